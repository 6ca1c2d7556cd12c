#!/usr/bin/node
// /bin/sh of the image, which has no shell: HyperShift's pod of the kube-apiserver calls `/bin/sh -c "sleep 70"` before it
// stops the server, so that agents connect to the next one meanwhile.
const LONGEST = 86_400;

const [flag, command = "", ...others] = process.argv.slice(2);
const seconds = /^sleep ([0-9]{1,6})$/.exec(command)?.[1];
if (flag === "-c" && others.length === 0 && seconds !== undefined && Number(seconds) <= LONGEST) {
  setTimeout(() => {}, Number(seconds) * 1000);
} else {
  process.stderr.write(
    "sh: this image has no shell; its /bin/sh runs -c 'sleep SECONDS' alone, for HyperShift's preStop hook. " +
      "Name the program itself as the command, for example /usr/bin/proxy-server, or sleep by preStop.sleep.\n",
  );
  process.exitCode = 127;
}

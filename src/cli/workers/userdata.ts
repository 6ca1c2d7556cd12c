/** `drawbridge workers userdata`: what to give a machine right now. */

import { installerText, ipxeText } from "../../cluster/nodes/providers/by-hand.js";
import { freshUserData } from "../../cluster/nodes/token/user-data.js";
import { knownWorkers } from "../../cluster/nodes/workers/machines.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { filled, oneOf, text, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { print } from "../framework/output.js";
import { tailoringFlags, windowFlag, withState, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Prints the user data of a worker with its pool's configuration and token of now, writes it into --state as well, and, with
--renew, opens the time window for its first certificate again. It holds a token: mind where it goes. With --format it is
written only, and what is printed says how the machine gets it: coreos-installer's commands, or an iPXE script. Tokens are
in no URL and in no kernel argument: user data is a file, or in an image that coreos-installer makes of it.`,
  words: "NAME",
  examples: [
    "drawbridge workers userdata demo-0 --renew",
    "drawbridge workers userdata demo-0 --format ipxe --boot-url http://boot.example/coreos",
  ],
  flags: {
    ...workersFlags,
    ...tailoringFlags,
    ...windowFlag,
    format: oneOf(["json", "coreos-installer", "ipxe"], "What is printed.", "json"),
    device: filled(text("Disk of the machine that CoreOS is installed on, for --format coreos-installer.", "/dev/sda")),
    "boot-url": text("Where iPXE fetches kernel, initramfs and root file system, for --format ipxe."),
    renew: yesNo("Expect the worker's first certificate request from now on."),
  },
  async run(flags, { words, given }) {
    const { bootUrl, device, format, ignitionAddress, renew, setHostname, window } = flags;
    if (format === "ipxe" && !/^https?:\/\/[^\s?]+$/.test(bootUrl)) {
      throw refused("--format ipxe needs --boot-url, such as http://boot.example/coreos");
    }
    if (given.has("window") && !renew) throw refused("--window goes with --renew");
    const name = onlyWord(words, "the worker's name");
    const shown = await withWorkersClusters(flags, (clusters) =>
      withState(flags, clusters, async (store) => {
        const [worker] = (await knownWorkers(store, [name])) as [Worker];
        const tailoring = {
          ...(given.has("set-hostname") && { setHostname }),
          ...(given.has("ignition-address") && { ignitionAddress }),
        };
        const time = (at: number) => new Date(at).toISOString();
        const now = Date.now();
        const opened = renew ? { notBefore: time(now), deadline: time(now + window) } : {};
        const fresh = await freshUserData(clusters.pools, { ...worker, ...opened }, tailoring);
        await store.update(name, (one) => ({ ...one, ...opened, hash: fresh.hash }));
        const userData = await store.writeUserData(name, fresh.text);
        if (format === "coreos-installer") return installerText({ name, userData, device });
        return format === "ipxe" ? ipxeText({ name }, bootUrl) : `${fresh.text}\n`;
      }),
    );
    print(shown);
    return 0;
  },
});

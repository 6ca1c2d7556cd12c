/** `drawbridge hosted check-connection`: what the pods of kas-connection-checker run. */

import { checkOnce, keepChecking } from "../../cluster/hosted/connection-checker.js";
import { openKubeApi } from "../../cluster/kube/open.js";
import { duration, filePath, yesNo } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import { print } from "../framework/output.js";

export default defineCommand({
  purpose: `Stamps, every minute, that the kube-apiserver was reached from here; hosted status reads the stamp.
It runs in the hosted cluster, as apply puts it there.`,
  examples: ["drawbridge hosted check-connection --kubeconfig demo.kubeconfig --once"],
  flags: {
    kubeconfig: filePath("Kubeconfig of the kube-apiserver. If empty, the cluster of this pod."),
    once: yesNo("Try once, and end with 1 if it failed."),
    every: duration("1m", "Pause between two attempts.", { least: 1 }),
  },
  async run({ kubeconfig, once, every: everyMs }) {
    const api = await openKubeApi({ kubeconfig, qps: 5, burst: 5 });
    const report = (sentence: string): void => print(`${sentence}\n`);
    try {
      if (once) return (await checkOnce(api, report)) ? 0 : 1;
      const stop = new AbortController();
      for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
      await keepChecking(api, report, everyMs, stop.signal);
      return 0;
    } finally {
      api.close();
    }
  },
});

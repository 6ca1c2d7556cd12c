/** `drawbridge workers userdata`: what to give a machine right now. */

import { freshUserData } from "../../cluster/nodes/token/user-data.js";
import { knownWorkers } from "../../cluster/nodes/workers/machines.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { print } from "../framework/output.js";
import { tailoringFlags, windowFlag, withState, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Prints the user data of a worker with its pool's configuration and token of now, writes it into --state as well, and, with
--renew, opens the time window for its first certificate again. It holds a token: mind where it goes.`,
  words: "NAME",
  examples: ["drawbridge workers userdata demo-0 --renew"],
  flags: {
    ...workersFlags,
    ...tailoringFlags,
    ...windowFlag,
    renew: yesNo("Expect the worker's first certificate request from now on."),
  },
  async run(flags, { words, given }) {
    const { ignitionAddress, renew, setHostname, window } = flags;
    if (given.has("window") && !renew) throw refused("--window goes with --renew");
    const name = onlyWord(words, "the worker's name");
    const text = await withWorkersClusters(flags, (clusters) =>
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
        await store.writeUserData(name, fresh.text);
        return fresh.text;
      }),
    );
    print(`${text}\n`);
    return 0;
  },
});

/** `drawbridge workers userdata`: what to give a machine right now. */
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { boolean } from "../flags/flag-value.js";
import { toMilliseconds } from "../flags/go-duration.js";
import { refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess, withObjects } from "../nodepool/flags.js";
import { declareHosted, declareState, declareTailoring, nameOrRefuse, withClusters, withState } from "./flags.js";
import { checkWindow, declareWindow } from "./making.js";
import { declarePublishing, publisher } from "./publishing.js";

const purpose = `Prints the user data of a worker with its pool's configuration and token of now, writes it into --state as well, and, with
--renew, opens the time window for its first certificate anew (and with --publish tells an approver in a cluster so). It
holds a token: mind where it goes.`;

export function workersUserdata(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME",
    declare: (set) => ({
      ...declareAccess(set),
      ...declareState(set),
      ...declareTailoring(set),
      ...declarePublishing(set),
      hostedKubeconfig: declareHosted(set),
      renew: set.add("renew", boolean, false, "Expect the worker's first certificate request from now on."),
      window: declareWindow(set),
    }),
    check: (flags, words) => {
      checkAccess(flags);
      checkWindow(flags.window);
      if (flags.window.changed && !flags.renew.value) throw refused("--window goes with --renew");
      if (flags.publish.value && !flags.renew.value) throw refused("--publish goes with --renew: nothing else changes");
      nameOrRefuse(words, "the worker's name");
    },
    run: async (flags, [name = ""]) => {
      const [{ freshUserData }, { knownWorkers }] = await Promise.all([
        import("../../cluster/nodes/workers/user-data.js"),
        import("../../cluster/nodes/workers/machines.js"),
      ]);
      return withState(flags, async (store) => {
        const [worker] = (await knownWorkers(store, [name])) as [Worker];
        const { ignitionAddress, renew, setHostname } = flags;
        const { hash, text } = await withObjects(flags, (api) =>
          freshUserData(api, worker, {
            ...(setHostname.changed && { setHostname: setHostname.value }),
            ...(ignitionAddress.changed && { ignitionAddress: ignitionAddress.value }),
          }),
        );
        const time = (at: number) => new Date(at).toISOString();
        const now = Date.now();
        const until = now + toMilliseconds(flags.window.value);
        const opened = renew.value ? { notBefore: time(now), deadline: time(until) } : {};
        const all = await store.change((known) =>
          known.map((one) => (one.name === name ? { ...one, ...opened, hash } : one)),
        );
        await store.writeUserData(name, text);
        if (flags.publish.value) await withClusters(flags, (clusters) => publisher(flags, clusters)(all));
        process.stdout.write(`${text}\n`);
        return 0;
      });
    },
  });
}

/** `drawbridge workers replace`: new machines in the place of workers. */

import type { ObjectName } from "../../cluster/nodes/objects.js";
import {
  planReplacements,
  type Replacement,
  replaceWorkers,
  workersBehind,
} from "../../cluster/nodes/workers/change.js";
import { unknownWorker } from "../../cluster/nodes/workers/machines.js";
import { poolOfWorker } from "../../cluster/nodes/workers/worker.js";
import { text, type Values, yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { APPROVAL_HELP, changeFlags, drainingFlags, withWorkers } from "./change.js";
import { commandFlags, openStore, poolOf, windowFlag, withWorkersClusters } from "./shared.js";

const replaceFlags = {
  ...changeFlags,
  ...drainingFlags,
  ...windowFlag,
  ...commandFlags,
  pool: text("Name of the pool. If empty, that of the first worker named."),
  behind: yesNo("Replace every worker of the pool whose configuration is behind."),
  "same-name": yesNo("Install the machines again under their names, instead of making others."),
  "dry-run": yesNo("Say which worker would be replaced by which, and change nothing."),
};

type ReplaceFlags = Values<typeof replaceFlags>;

export default defineCommand({
  purpose: `Replaces workers one after the other, or --max-unavailable at a time: the node is cordoned and drained (PodDisruptionBudgets are
respected, DaemonSets' pods stay), its machine is removed by its provider, the Node is deleted, and a new machine of the
same kind, with the pool's configuration of today, must become Ready before the next one leaves. The new worker has a new
name: a machine that was approved keeps certificates of its own. With --same-name it keeps its name, and the approver accepts one
new first certificate for it; see that the old disk is wiped. What would keep nodes from being drained is said before anything is changed. Killed at any point, the same command goes on.

${APPROVAL_HELP}`,
  words: "[NAME...]",
  examples: ["drawbridge workers replace --pool demo --behind --approve"],
  flags: replaceFlags,
  async run(flags, { words: names }) {
    check(flags, names);
    const { dryRun } = flags;
    const replaced = await withWorkers(flags, await ownerOf(flags, names), async (context) => {
      const meant = flags.behind ? await workersBehind(context) : [...new Set(names)];
      const plans = await planReplacements(context, meant, flags.sameName);
      const isIdle = plans.every(({ state }) => state === "done");
      if (!dryRun && !isIdle) await replaceWorkers(context, plans);
      return plans;
    });
    return { replaced, dryRun };
  },
  show: ({ replaced, dryRun }) => replacedText(replaced, dryRun),
});

function check(flags: ReplaceFlags, names: readonly string[]): void {
  if (names.length === 0 && !flags.behind) {
    throw missing("the workers' names are missing; --behind means every one whose configuration is behind");
  }
  if (names.length > 0 && flags.behind) throw refused("names and --behind exclude each other");
  if (flags.behind || flags.pool !== "") poolOf(flags);
}

/** Pool of the worker, or of the one that has replaced it. */
async function ownerOf(flags: ReplaceFlags, [first = ""]: readonly string[]): Promise<ObjectName> {
  if (flags.pool !== "") return poolOf(flags);
  const all = await withWorkersClusters(flags, async (clusters) => (await openStore(flags, clusters)).read());
  const worker = all.find(({ name, replaces }) => name === first || replaces === first);
  if (worker === undefined) throw unknownWorker(first, all);
  return poolOfWorker(worker);
}

function replacedText(plans: readonly Replacement[], dryRun: boolean): string {
  if (plans.length === 0) return "No worker is behind.\n";
  const line = ({ fresh, old, state }: Replacement) => {
    if (state === "done") return `${old} was replaced by ${fresh} before\n`;
    if (fresh === old) return `${old} ${dryRun ? "would be" : "is"} installed again\n`;
    return `${old} ${dryRun ? "would be" : "is"} replaced by ${fresh}\n`;
  };
  return plans.map(line).join("");
}

/** `drawbridge workers scale`: more workers, or fewer. */
import { planScale, scale } from "../../cluster/nodes/workers/change.js";
import { number, yesNo } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { APPROVAL_HELP, changeFlags, drainingFlags, withWorkers } from "./change.js";
import { commandFlags, groupOf, poolFlag, poolOf, prefixFlag, windowFlag } from "./shared.js";

export default defineCommand({
  purpose: `Brings a pool to --count workers and waits until that is so. New ones are made as the newest of those that are there. Of too
many those leave first that are not Ready, then those whose configuration is behind, then the youngest: each node is
cordoned and drained (PodDisruptionBudgets are respected, DaemonSets' pods stay), the machine is removed by its provider,
the Node is deleted. What would keep nodes from being drained is said before anything is changed. Killed at any point, the same
command goes on.

${APPROVAL_HELP}`,
  examples: ["drawbridge workers scale --pool demo --count 5 --approve"],
  flags: {
    ...changeFlags,
    ...drainingFlags,
    ...prefixFlag,
    ...windowFlag,
    ...commandFlags,
    ...poolFlag,
    count: number(0, "How many workers of this prefix there should be. Required.", { least: 0 }),
    "dry-run": yesNo("Say which workers would leave and which would be made, and change nothing."),
  },
  async run(flags, { given }) {
    const pool = poolOf(flags);
    if (!given.has("count")) throw missing("--count is missing: how many workers?");
    const wanted = groupOf(flags);
    const { dryRun } = flags;
    const plan = await withWorkers(flags, pool, async (context) => {
      const planned = await planScale(context, wanted);
      if (!dryRun) await scale(context, planned);
      return planned;
    });
    return { pool: wanted.pool, count: wanted.count, removed: plan.leave, made: plan.make, dryRun };
  },
  show({ count, removed, made, dryRun }) {
    const would = dryRun ? "would be " : "";
    return [
      ...removed.map((name) => `${name} ${would}removed\n`),
      ...made.map((name) => `${name} ${would}made\n`),
      removed.length + made.length === 0 ? `There are ${count} workers already.\n` : "",
    ].join("");
  },
});

/** `drawbridge workers scale`: more workers, or fewer. */
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, type FlagKind, integer, string } from "../flags/flag-value.js";
import { json, refused, runPlainCommand } from "../framework/plain-command.js";
import { noWords } from "../nodepool/flags.js";
import { poolOf } from "./flags.js";
import {
  APPROVAL_HELP,
  approving,
  checkDraining,
  checkFleet,
  declareDraining,
  declareFleet,
  withFleet,
} from "./fleet.js";
import { checkWindow, declareWindow } from "./making.js";

const purpose = `Brings a pool to --count workers and waits until that is so. New ones are made as the newest of those that are there. Of too
many those leave first that are not Ready, then those whose configuration is behind, then the youngest: each node is
cordoned and drained (PodDisruptionBudgets are respected, DaemonSets' pods stay), the machine is removed by its provider,
the Node is deleted. What stands in the way of draining is said before anything is changed. Killed at any point, the same
command goes on.

${APPROVAL_HELP}`;

export function workersScale(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

/** What it is when it was not given is nobody's business. */
const required: FlagKind<number> = { ...integer, showDefault: () => undefined };

function declare(set: FlagSet) {
  return {
    ...declareFleet(set),
    ...declareDraining(set),
    pool: set.add("pool", string, "", "Name of the pool. Required."),
    prefix: set.add("name-prefix", string, "", "Of the workers' names. If empty, the pool's name."),
    count: set.add("count", required, -1, "How many workers of this prefix there should be. Required."),
    window: declareWindow(set),
    dryRun: set.add("dry-run", boolean, false, "Say who would leave and who would be made."),
  };
}

type ScaleFlags = ReturnType<typeof declare>;

function check(flags: ScaleFlags, words: readonly string[]): void {
  noWords(words);
  checkFleet(flags);
  checkDraining(flags);
  checkWindow(flags.window);
  poolOf(flags.pool, flags.namespace);
  if (!flags.count.changed) throw refused("--count is missing: how many workers?");
  if (flags.count.value < 0) throw refused(`--count must not be negative, got ${flags.count.value}`);
}

async function run(flags: ScaleFlags): Promise<number> {
  const [{ planScale, scale }, { poolHash }] = await Promise.all([
    import("../../cluster/nodes/workers/scale.js"),
    import("../../cluster/nodes/workers/user-data.js"),
  ]);
  const pool = poolOf(flags.pool, flags.namespace);
  const wanted = {
    pool: `${pool.namespace}/${pool.name}`,
    prefix: flags.prefix.value || pool.name,
    count: flags.count.value,
  };
  const whose = { pool: async () => pool, window: flags.window, draining: flags };
  const plan = await withFleet(flags, whose, async (fleet) => {
    const { hash } = await fleet.patience.until(`pool ${pool.name}`, () => poolHash(fleet.clusters.pools, pool));
    const made = await planScale(fleet, wanted, hash);
    if (flags.dryRun.value) return made;
    if (made.make.length === 0) await scale(fleet, made);
    else await approving(flags, fleet, () => scale(fleet, made));
    return made;
  });
  const would = flags.dryRun.value ? "would be " : "";
  process.stdout.write(
    flags.output.value === "json"
      ? json({
          pool: wanted.pool,
          count: wanted.count,
          removed: plan.leave,
          made: plan.make,
          dryRun: flags.dryRun.value,
        })
      : [
          ...plan.leave.map((name) => `${name} ${would}removed\n`),
          ...plan.make.map((name) => `${name} ${would}made\n`),
          plan.leave.length + plan.make.length === 0 ? `There are ${wanted.count} workers already.\n` : "",
        ].join(""),
  );
  return 0;
}

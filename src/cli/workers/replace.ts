/** `drawbridge workers replace`: fresh machines in the place of workers. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { ObjectName } from "../../cluster/nodes/objects.js";
import type { Fleet } from "../../cluster/nodes/workers/change.js";
import type { Replacement } from "../../cluster/nodes/workers/replace.js";
import type { WorkerStore } from "../../cluster/nodes/workers/store.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import { json, refused, runPlainCommand } from "../framework/plain-command.js";
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

const purpose = `Replaces workers one after the other, or --max-unavailable at a time: the node is cordoned and drained (PodDisruptionBudgets are
respected, DaemonSets' pods stay), its machine is removed by its provider, the Node is deleted, and a new machine of the
same kind, with the pool's configuration of today, must become Ready before the next one leaves. The new worker has a new
name: a machine that was let in keeps certificates of its own, and no other is let in under it. What stands in the way of
draining is said before anything is changed. Killed at any point, the same command goes on.

${APPROVAL_HELP}`;

export function workersReplace(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, words: " [NAME...]", declare, check, run });
}

function declare(set: FlagSet) {
  return {
    ...declareFleet(set),
    ...declareDraining(set),
    pool: set.add("pool", string, "", "Name of the pool. If empty, that of the first worker named."),
    behind: set.add("behind", boolean, false, "Every worker of the pool whose configuration is behind."),
    window: declareWindow(set),
    dryRun: set.add("dry-run", boolean, false, "Say who would be replaced by whom."),
  };
}

type ReplaceFlags = ReturnType<typeof declare>;

function check(flags: ReplaceFlags, names: readonly string[]): void {
  checkFleet(flags);
  checkDraining(flags);
  checkWindow(flags.window);
  if (names.length === 0 && !flags.behind.value) {
    throw refused("the workers' names are missing; --behind means every one whose configuration is behind");
  }
  if (names.length > 0 && flags.behind.value) throw refused("names and --behind exclude each other");
  if (flags.behind.value || flags.pool.value !== "") poolOf(flags.pool, flags.namespace);
}

async function run(flags: ReplaceFlags, names: readonly string[]): Promise<number> {
  const { planReplacements, replaceWorkers } = await import("../../cluster/nodes/workers/replace.js");
  const whose = {
    pool: (store: WorkerStore) => ownerOf(flags, store, names),
    window: flags.window,
    draining: flags,
  };
  const plans = await withFleet(flags, whose, async (fleet) => {
    const chosen = flags.behind.value ? await behind(fleet) : [...new Set(names)];
    const made = await planReplacements(fleet, chosen);
    const isIdle = made.every(({ state }) => state === "done");
    if (!flags.dryRun.value && !isIdle) await approving(flags, fleet, () => replaceWorkers(fleet, made));
    return made;
  });
  process.stdout.write(
    flags.output.value === "json" ? json({ replaced: plans, dryRun: flags.dryRun.value }) : text(plans, flags),
  );
  return 0;
}

async function behind(fleet: Fleet): Promise<string[]> {
  const [{ workersBehind }, { poolHash }] = await Promise.all([
    import("../../cluster/nodes/workers/replace.js"),
    import("../../cluster/nodes/workers/user-data.js"),
  ]);
  const { clusters, patience, pool } = fleet;
  const { hash } = await patience.until(`pool ${pool.name}`, () => poolHash(clusters.pools, pool));
  return workersBehind(fleet, hash);
}

/** Of the worker itself, or of the one that has taken its place. */
async function ownerOf(flags: ReplaceFlags, store: WorkerStore, [first = ""]: readonly string[]): Promise<ObjectName> {
  if (flags.pool.value !== "") return poolOf(flags.pool, flags.namespace);
  const [all, { unknownWorker }] = await Promise.all([store.read(), import("../../cluster/nodes/workers/machines.js")]);
  const worker = all.find(({ name, replaces }) => name === first || replaces === first);
  if (worker === undefined) throw unknownWorker(first, all);
  const [namespace = "", name = ""] = worker.pool.split("/");
  if (name === "") throw new DrawbridgeError("DB_WORKERS", `the record of ${first} names no pool`);
  return { namespace, name };
}

function text(plans: readonly Replacement[], { dryRun }: ReplaceFlags): string {
  if (plans.length === 0) return "No worker is behind.\n";
  const line = ({ fresh, old, state }: Replacement) => {
    if (state === "done") return `${old} was replaced by ${fresh} before\n`;
    return `${old} ${dryRun.value ? "would be" : "is"} replaced by ${fresh}\n`;
  };
  return plans.map(line).join("");
}

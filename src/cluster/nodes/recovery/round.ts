/** One look at all pools, with what was done about it. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { type ObjectName, pathOf, readPath } from "../objects.js";
import { exclusively, isBusy } from "../workers/store.js";
import { type Ailment, trouble } from "./ailment.js";
import { examine } from "./examine.js";
import type { Surgery } from "./patient.js";
import { putOff, type Treatment, type TreatmentOptions, treat } from "./treat.js";

export interface RoundOptions {
  readonly surgery: Surgery;
  /** Undefined: those of all workers that are remembered. */
  readonly pool: ObjectName | undefined;
  /** Only these workers; empty for all. */
  readonly names: readonly string[];
  /** Undefined: look, and do nothing. */
  readonly treatment: TreatmentOptions | undefined;
}

export interface PoolRound {
  readonly pool: string;
  /** As it is after what was done. */
  readonly checks: readonly Ailment[];
  readonly fixes: readonly Treatment[];
}

export async function makeRound(options: RoundOptions): Promise<PoolRound[]> {
  const pools = await poolsOf(options);
  const rounds: PoolRound[] = [];
  for (const pool of pools) {
    try {
      rounds.push(await roundOf(options, pool));
    } catch (reason) {
      // One that is gone must not hide the others.
      if (pools.length === 1) throw reason;
      rounds.push(unseen(pathOf(pool), messageOf(reason)));
    }
  }
  return rounds;
}

function unseen(pool: string, why: string): PoolRound {
  const about = { id: "pool", subject: pool };
  const ailment = trouble(about, { code: "DB_NODE_UNCHECKED", finding: `pool ${pool} could not be looked at: ${why}` });
  return { pool, checks: [ailment], fixes: [] };
}

export const isSick = (rounds: readonly PoolRound[]): boolean =>
  rounds.some(({ checks }) => checks.some(({ state }) => state === "wrong"));

async function roundOf({ names, surgery, treatment }: RoundOptions, pool: ObjectName): Promise<PoolRound> {
  const checks = await examine(surgery, pool, names);
  const of = pathOf(pool);
  if (treatment === undefined) return { pool: of, checks, fixes: [] };
  const isAtWork = !treatment.dryRun && checks.some(({ fix }) => fix !== undefined);
  if (!isAtWork) return { pool: of, checks, fixes: await treat(checks, treatment) };
  // Another command may be writing the same user data.
  const fixes = await exclusively(surgery.store.directory, () => treat(checks, treatment)).catch((reason: unknown) => {
    if (isBusy(reason)) return putOff(checks, reason.message);
    throw reason;
  });
  return { pool: of, checks: await examine(surgery, pool, names), fixes };
}

async function poolsOf({ names, pool, surgery }: RoundOptions): Promise<ObjectName[]> {
  const workers = await surgery.store.read();
  const stranger = names.find((name) => !workers.some((worker) => worker.name === name));
  if (stranger !== undefined) throw new DrawbridgeError("DB_WORKERS", `there is no worker ${stranger}`);
  if (pool !== undefined) return [pool];
  const theirs = workers.filter(({ name }) => names.length === 0 || names.includes(name)).map((worker) => worker.pool);
  const pools = [...new Set(theirs)].sort().flatMap((path) => readPath(path) ?? []);
  if (pools.length > 0) return pools;
  throw new DrawbridgeError(
    "DB_WORKERS",
    "no worker is remembered, so it is not clear which pool is meant; give --pool",
  );
}

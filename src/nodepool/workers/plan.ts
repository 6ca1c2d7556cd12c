/** Which workers there should be, with names that stay and zones that are filled evenly. */
import { DrawbridgeError } from "../../errors/error.js";
import { isNodeName } from "../csr/node-name.js";
import type { Worker } from "./worker.js";

export interface Wish {
  readonly pool: string;
  readonly prefix: string;
  /** How many of this prefix there should be in all. */
  readonly count: number;
  readonly zones: readonly string[];
}

export interface Planned {
  readonly name: string;
  readonly zone: string;
}

export const mostWorkers = 5000;

/** What is missing: the lowest free numbers, each in the zone that has fewest workers of the pool. */
export function planWorkers(existing: readonly Worker[], { count, pool, prefix, zones }: Wish): Planned[] {
  if (!Number.isInteger(count) || count < 1 || count > mostWorkers) {
    throw new DrawbridgeError("DB_WORKERS", `the number of workers must be 1 to ${mostWorkers}, not ${count}`);
  }
  const taken = new Map(existing.map((worker) => [worker.name, worker]));
  const load = new Map(
    zones.map((zone) => [zone, existing.filter((one) => one.pool === pool && one.zone === zone).length]),
  );
  const planned: Planned[] = [];
  for (let index = 0; index < count; index++) {
    const name = `${prefix}-${index}`;
    if (!isNodeName(name)) throw new DrawbridgeError("DB_WORKERS", `"${name}" cannot be the name of a node`);
    const other = taken.get(name);
    if (other !== undefined && other.pool !== pool) {
      throw new DrawbridgeError("DB_WORKERS", `${name} is a worker of ${other.pool} already; choose another prefix`);
    }
    if (other !== undefined) continue;
    const zone = emptiest(load);
    if (zone !== "") load.set(zone, (load.get(zone) ?? 0) + 1);
    planned.push({ name, zone });
  }
  return planned;
}

/** Of equals the first. */
function emptiest(load: ReadonlyMap<string, number>): string {
  let best = "";
  for (const [zone, count] of load) if (best === "" || count < load.get(best)!) best = zone;
  return best;
}

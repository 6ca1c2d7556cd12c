/** Which workers there should be, with names that are used once and zones that are filled evenly. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { isNodeName } from "../csr/node-name.js";
import { type Numbers, numbered, usedNumbers } from "./numbers.js";
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

export const MOST_WORKERS = 5000;

export function isOfWish({ name, pool }: Worker, wish: Pick<Wish, "pool" | "prefix">): boolean {
  return pool === wish.pool && numbered(name)?.prefix === wish.prefix;
}

/** What is missing: names that nobody ever had, each in the zone that has fewest workers of the pool. */
export function planWorkers(existing: readonly Worker[], wish: Wish, numbers: Numbers = {}): Planned[] {
  const { count, pool, prefix, zones } = wish;
  if (!Number.isInteger(count) || count < 1 || count > MOST_WORKERS) {
    throw unusable(`the number of workers must be 1 to ${MOST_WORKERS}, not ${count}`);
  }
  const own = existing.filter((worker) => isOfWish(worker, wish));
  if (own.length > count) {
    const how = `drawbridge workers scale --count ${count} drains and removes some`;
    throw unusable(
      `there are ${own.length} workers of ${pool} called ${prefix}-... already, more than ${count}: ${how}`,
    );
  }
  const other = existing.find((worker) => worker.pool !== pool && numbered(worker.name)?.prefix === prefix);
  if (other !== undefined) throw unusable(`${other.name} is a worker of ${other.pool} already; choose another prefix`);
  const names = existing.map(({ name }) => name);
  const first = usedNumbers(numbers, names)[prefix] ?? 0;
  const load = new Map(
    zones.map((zone) => [zone, existing.filter((one) => one.pool === pool && one.zone === zone).length]),
  );
  return Array.from({ length: count - own.length }, (_, index) => {
    const name = `${prefix}-${first + index}`;
    if (!isNodeName(name)) throw unusable(`"${name}" cannot be the name of a node`);
    const zone = emptiest(load);
    if (zone !== "") load.set(zone, (load.get(zone) ?? 0) + 1);
    return { name, zone };
  });
}

/** Of equals the first. */
function emptiest(load: ReadonlyMap<string, number>): string {
  let best = "";
  for (const [zone, count] of load) if (best === "" || count < load.get(best)!) best = zone;
  return best;
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_WORKERS", sentence);
}

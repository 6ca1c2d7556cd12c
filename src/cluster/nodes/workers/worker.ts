/** The record of a machine that was made, or is to be made, for a pool. */

import { errorOf } from "../../../base/errors/error.js";
import { isNodeName } from "../csr/names.js";
import { type ObjectName, readPath } from "../objects.js";
import type { ProviderName } from "../providers/index.js";
import type { MachineShape } from "../providers/settings.js";

export interface Worker {
  /** Name of the machine and of the node. */
  readonly name: string;
  /** `namespace/name`. */
  readonly pool: string;
  /** Empty: none. */
  readonly zone: string;
  readonly provider: ProviderName;
  readonly shape: MachineShape;
  /** The pool's, when its user data was made. */
  readonly hash: string;
  /** The hash of the configuration that the Ignition server sent it last, where that was seen. */
  readonly served?: string;
  /** RFC 3339: in between its first certificate may be issued. */
  readonly notBefore: string;
  readonly deadline: string;
  /** Addresses for its serving certificates; if there are none, those that its Node reports, in these networks. */
  readonly ips: readonly string[];
  readonly networks?: readonly string[];
  /** DNS names beside its own for them. */
  readonly dnsNames?: readonly string[];
  /** Whether it was a node before it became a worker here. */
  readonly joined?: boolean;
  /** RFC 3339, by the API server's clock: what was approved or asked for until then does not count any more. */
  readonly reinstalled?: string;
  /** RFC 3339: when its Node was first Ready, as far as an approver saw it. */
  readonly readyAt?: string;
  /** Whether the machine exists as far as we know. */
  readonly made: boolean;
  /** Whether its user data has a token that belongs to it alone. */
  readonly ownToken: boolean;
  /**
   * Templates, for provider command. They are kept on the disk of whoever gave them and in no cluster: who may write a Worker
   * must not decide what is run here.
   */
  readonly createCommand: readonly string[];
  readonly deleteCommand: readonly string[];
  /** More arguments for the tool that makes it, and where libvirt is; kept as commands are. Undefined: not on this disk. */
  readonly createArguments?: readonly string[];
  readonly connection?: string;
  /** Whether it was made with such arguments, here or elsewhere. */
  readonly hasCreateArguments?: boolean;
  /** Whether there is a command that removes its machine, here or elsewhere. */
  readonly removedByCommand?: boolean;
  /** Whether its user data names it: a node has its machine's host name. If undefined, true. */
  readonly setHostname?: boolean;
  /** `10.0.0.1` or `10.0.0.1:443`, for machines that cannot resolve names. If empty or undefined, as published. */
  readonly ignitionAddress?: string;
  /** Set while it is being taken out of service, so that a command that was killed can be continued. */
  readonly leaving?: "removed" | "replaced";
  /** The worker in whose place it is. */
  readonly replaces?: string;
}

/** What decides what is run, and where: it stays on the disk of whoever gave it. */
export type HostSettings = Pick<Worker, "createCommand" | "deleteCommand" | "createArguments" | "connection">;

/**
 * The next free number in workers' names, by prefix. Each is used once: a machine keeps certificates of its name for a long
 * time, and the approver approves no second machine of that name.
 */
export type Numbers = ReadonlyMap<string, number>;

/** Undefined for names that we did not make. */
export function numbered(name: string) {
  const [, prefix, digits] = /^(.+)-(0|[1-9]\d{0,8})$/.exec(name) ?? [];
  return prefix === undefined ? undefined : { prefix, number: Number(digits) };
}

export function usedNumbers(before: Numbers, names: readonly string[]): Numbers {
  const next = new Map(before);
  for (const name of names) {
    const found = numbered(name);
    if (found !== undefined) next.set(found.prefix, Math.max(next.get(found.prefix) ?? 0, found.number + 1));
  }
  return next;
}

/** The workers of a pool that share a prefix: how many there should be, and in which zones. */
export interface WorkerGroup {
  readonly pool: string;
  readonly prefix: string;
  /** How many of this prefix there should be in all. */
  readonly count: number;
  readonly zones: readonly string[];
  /** Names of their own instead of a prefix and a number; then the number of workers is that of the names. */
  readonly names?: readonly string[];
  /** What serving certificates are for, by the worker's name. */
  readonly addresses?: ReadonlyMap<string, Addresses>;
}

export type Addresses = Partial<Pick<Worker, "ips" | "dnsNames">>;

export const MOST_WORKERS = 5000;

export function isInGroup({ name, pool }: Worker, group: Pick<WorkerGroup, "pool" | "prefix" | "names">): boolean {
  return pool === group.pool && (group.names?.includes(name) ?? numbered(name)?.prefix === group.prefix);
}

/** The workers that are missing: each has a name that was never used, in the zone that has fewest workers of the pool. */
export function planWorkers(existing: readonly Worker[], group: WorkerGroup, numbers: Numbers = new Map()) {
  const { pool, zones } = group;
  const names =
    group.names === undefined ? nextNames(existing, group, numbers) : newNames(existing, group, group.names);
  const load = new Map(
    zones.map((zone) => [zone, existing.filter((one) => one.pool === pool && one.zone === zone).length]),
  );
  return names.map((name) => {
    if (!isNodeName(name)) throw workersError(`"${name}" cannot be the name of a node`);
    const zone = leastLoaded(load);
    if (zone !== "") load.set(zone, (load.get(zone) ?? 0) + 1);
    return { name, zone };
  });
}

/** Those of the names that no worker has. */
function newNames(existing: readonly Worker[], { pool }: WorkerGroup, names: readonly string[]): string[] {
  const other = existing.find((worker) => worker.pool !== pool && names.includes(worker.name));
  if (other !== undefined) throw workersError(`${other.name} is a worker of ${other.pool} already`);
  return names.filter((name) => !existing.some((worker) => worker.name === name));
}

/** As many more as are missing, with numbers that were never used. */
function nextNames(existing: readonly Worker[], group: WorkerGroup, numbers: Numbers): string[] {
  const { count, pool, prefix } = group;
  if (!Number.isInteger(count) || count < 1 || count > MOST_WORKERS) {
    throw workersError(`the number of workers must be 1 to ${MOST_WORKERS}, not ${count}`);
  }
  const own = existing.filter((worker) => isInGroup(worker, group));
  if (own.length > count) {
    const how = `drawbridge workers scale --count ${count} drains and removes some`;
    throw workersError(
      `there are ${own.length} workers of ${pool} called ${prefix}-... already, more than ${count}: ${how}`,
    );
  }
  const other = existing.find((worker) => worker.pool !== pool && numbered(worker.name)?.prefix === prefix);
  if (other !== undefined)
    throw workersError(`${other.name} is a worker of ${other.pool} already; choose another prefix`);
  const used = existing.map(({ name }) => name);
  const first = usedNumbers(numbers, used).get(prefix) ?? 0;
  return Array.from({ length: count - own.length }, (_, index) => `${prefix}-${first + index}`);
}

/** The zone with the fewest workers; of equals the first. */
function leastLoaded(load: ReadonlyMap<string, number>): string {
  let best = "";
  for (const [zone, count] of load) if (best === "" || count < load.get(best)!) best = zone;
  return best;
}

export function poolOfWorker({ name, pool }: Worker): ObjectName {
  const owner = readPath(pool);
  if (owner === undefined) throw workersError(`the record of ${name} names no pool`);
  return owner;
}

export const workersError = errorOf("DB_WORKERS");

/** Watches the pools of a namespace and keeps the machines of those that name this controller's provider. */
import { messageOf } from "../../../base/errors/error.js";
import { ListWatch } from "../../kube/list-watch.js";
import { collectionPath } from "../../kube/paths.js";
import { readPath } from "../objects.js";
import { MACHINES_ANNOTATION, type NodePool } from "../pool/node-pool.js";
import { type WorkOutcome, WorkQueue } from "../work-queue.js";
import { PoolMachines, type PoolMachinesOptions } from "./pool-machines.js";
import type { LeftAlone } from "./rules.js";

export interface MachineControllerOptions extends PoolMachinesOptions {
  readonly namespace: string;
  /** Name of the cluster whose pools are meant; empty: all pools are of one. */
  readonly cluster: string;
  readonly onPass?: (key: string, outcome: WorkOutcome) => void;
  readonly onError?: (sentence: string, reason?: unknown) => void;
}

/** One pool. Each has a queue of its own: draining a node of one takes a while. */
interface Entry {
  readonly queue: WorkQueue;
  machines: PoolMachines;
  /** What the last pass was about. */
  seen: string;
}

export class MachineController {
  readonly #options: MachineControllerOptions;
  readonly #pools: ListWatch<NodePool>;
  readonly #entries = new Map<string, Entry>();

  constructor(options: MachineControllerOptions) {
    this.#options = options;
    const { clock, clusters, namespace, onError } = options;
    this.#pools = new ListWatch<NodePool>({
      ...{ api: clusters.pools, clock, path: collectionPath("NodePool", namespace) },
      onChange: () => this.#lookAtChanged(),
      onError: (reason) => onError?.(messageOf(reason), reason),
    });
  }

  get synced(): boolean {
    return this.#pools.synced;
  }

  /** Pools that name this controller's provider. */
  get count(): number {
    return [...this.#pools.items.values()].filter((pool) => machinesOf(pool) === this.#options.provider).length;
  }

  start(): void {
    this.#pools.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ queue }) => queue.stop()));
    await this.#pools.stop();
  }

  /** After becoming the leader: another replica knows more of what was done since. */
  takeOver(): void {
    for (const [key, entry] of this.#entries) {
      entry.machines = this.#machines(key);
      entry.queue.add(key);
    }
  }

  /** The controllers' own writes to a status are no reason for another pass. */
  #lookAtChanged(): void {
    for (const [key, { metadata, spec }] of this.#pools.items) {
      const entry = this.#entries.get(key) ?? this.#enter(key);
      const seen = JSON.stringify([spec, metadata?.annotations, metadata?.deletionTimestamp]);
      if (seen === entry.seen) continue;
      entry.seen = seen;
      entry.queue.add(key);
    }
    for (const [key, { queue }] of this.#entries) {
      if (this.#pools.items.has(key)) continue;
      this.#entries.delete(key);
      void queue.stop();
    }
  }

  #enter(key: string): Entry {
    const { clock } = this.#options;
    const queue = new WorkQueue({ clock, work: (each) => this.#pass(each), longestDelayMs: 60_000 });
    const entry: Entry = { queue, machines: this.#machines(key), seen: "" };
    this.#entries.set(key, entry);
    return entry;
  }

  #machines(key: string): PoolMachines {
    return new PoolMachines(readPath(key)!, this.#options);
  }

  async #pass(key: string): Promise<WorkOutcome> {
    const pool = this.#pools.items.get(key);
    const entry = this.#entries.get(key);
    if (pool === undefined || entry === undefined) return "wait";
    const outcome = await entry.machines.pass(pool, this.#ofAnotherCluster(pool), () => this.#pools.items.get(key));
    this.#options.onPass?.(key, outcome);
    return outcome;
  }

  /** The nodes of one cluster say nothing about another's. */
  #ofAnotherCluster(pool: NodePool): LeftAlone | undefined {
    const { cluster } = this.#options;
    const { spec } = pool;
    if (machinesOf(pool) === undefined) return undefined;
    if (cluster !== "") {
      return spec?.clusterName === cluster ? undefined : { why: `it is a pool of cluster ${spec?.clusterName}` };
    }
    const ours = [...this.#pools.items.values()].filter((each) => machinesOf(each) === this.#options.provider);
    const names = [...new Set(ours.map((each) => each.spec?.clusterName))].sort();
    if (names.length < 2) return undefined;
    return { why: `there are pools of the clusters ${names.join(", ")}: --cluster says whose nodes these are` };
  }
}

const machinesOf = ({ metadata }: NodePool) => metadata?.annotations?.[MACHINES_ANNOTATION];

/**
 * Keeps the approver's memory, so that the next leader knows what the last one did: in the status of each Worker and, for
 * nodes that are none, in one ConfigMap.
 */

import { isDeepStrictEqual } from "node:util";
import { wrapErrors } from "../../../base/errors/error.js";
import { createOrUpdate, find } from "../../kube/objects.js";
import { namedPath, typed } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type ConfigMap, type ObjectName, pathOf } from "../objects.js";
import { APPROVER_NAME } from "../permissions.js";
import { eachOf } from "../workers/each-of.js";
import { recordOf, statusOf, type WorkerObject } from "../workers/resource.js";
import type { WorkerObjects } from "./inventory-workers.js";
import { type Memory, type NodeRecord, readMemory, writeMemory } from "./memory.js";

const AT_ONCE = 10;
const MANAGER = { fieldManager: APPROVER_NAME };

export class MemoryStore {
  readonly #api: KubeApi;
  readonly #name: ObjectName;
  readonly #workers: WorkerObjects | undefined;
  #stored: ConfigMap | undefined;
  /** What the ConfigMap holds. */
  #inMap: Memory = new Map();
  /** Workers as they were last written or read here. */
  #objects = new Map<string, WorkerObject>();
  memory: Memory = new Map();

  /** Without Workers everything is in the ConfigMap. */
  constructor(api: KubeApi, name: ObjectName, workers?: WorkerObjects) {
    this.#api = api;
    this.#name = name;
    this.#workers = workers;
  }

  async load(): Promise<Memory> {
    this.#stored = await find<ConfigMap>(this.#api, namedPath("ConfigMap", this.#name));
    const what = `the ConfigMap ${pathOf(this.#name)}, which holds what was approved, cannot be read`;
    this.#inMap = wrapErrors("DB_CSR_INVENTORY", what, () => readMemory(this.#stored?.data));
    this.#objects = new Map(await this.#workers?.all());
    const inWorkers = [...this.#objects].flatMap(([name, object]) => {
      const record = recordOf(object);
      return record === undefined || !isWorthKeeping(record) ? [] : [[name, record] as const];
    });
    this.memory = new Map([...this.#inMap, ...inWorkers]);
    return this.memory;
  }

  /** Takes in what the `workers` commands changed since `load`. */
  noteWorkers(objects: ReadonlyMap<string, WorkerObject>): void {
    for (const [name, object] of objects) {
      const known = this.#objects.get(name);
      // One with another status is older than what was written here, or is another approver's, which a write finds out.
      if (known === object || (known !== undefined && !isDeepStrictEqual(known.status, object.status))) continue;
      this.#objects.set(name, object);
    }
    for (const name of this.#objects.keys()) if (!objects.has(name)) this.#objects.delete(name);
  }

  isWorker(name: string): boolean {
    return this.#objects.has(name);
  }

  /** Records of Workers that are still in the ConfigMap, from before there were Workers. */
  get misplaced(): string[] {
    return [...this.#inMap.keys()].filter((name) => this.#objects.has(name));
  }

  /** Fails, and changes nothing of those that failed, when somebody else wrote since `load`. */
  async remember(changes: Memory, forgotten: readonly string[] = []): Promise<void> {
    const statuses: [string, NodeRecord | undefined][] = [
      ...[...changes].filter(([name]) => this.isWorker(name)),
      ...forgotten.filter((name) => this.isWorker(name)).map((name): [string, undefined] => [name, undefined]),
    ];
    await eachOf(statuses, AT_ONCE, ([name, record]) => this.#writeStatus(name, record));
    const inMap = new Map(this.#inMap);
    for (const [name, record] of changes) if (!this.isWorker(name)) inMap.set(name, record);
    for (const name of [...forgotten, ...statuses.map(([name]) => name)]) inMap.delete(name);
    // Also what it has already: a write finds out whether somebody else wrote.
    const isMeant = [...changes.keys(), ...forgotten].some((name) => !this.isWorker(name));
    if (isMeant || inMap.size < this.#inMap.size) await this.#writeMap(inMap);
    const next = new Map<string, NodeRecord>([...this.memory, ...changes]);
    for (const name of forgotten) next.delete(name);
    this.memory = next;
  }

  async #writeMap(inMap: Memory): Promise<void> {
    const map: ConfigMap = { ...(this.#stored ?? { metadata: this.#name }), data: writeMemory(inMap) };
    this.#stored = await createOrUpdate(this.#api, "ConfigMap", map);
    this.#inMap = inMap;
  }

  async #writeStatus(name: string, record: NodeRecord | undefined): Promise<void> {
    const path = namedPath("Worker", { namespace: this.#workers!.namespace, name });
    const status = record === undefined ? {} : statusOf(record);
    // Only over the version that was read: another approver may have written what it approved.
    const written = typed("Worker", { ...this.#objects.get(name), status });
    this.#objects.set(name, await this.#api.update<WorkerObject>(`${path}/status`, written, MANAGER));
  }
}

/** A record that says nothing about approvals does not make a node known. */
function isWorthKeeping({ pool: _, ...rest }: NodeRecord): boolean {
  return Object.keys(rest).length > 0;
}

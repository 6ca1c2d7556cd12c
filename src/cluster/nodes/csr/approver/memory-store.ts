/** Keeps the approver's memory in a ConfigMap, so that the next leader knows what the last one did. */
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { find } from "../../../kube/find.js";
import type { KubeApi } from "../../../kube/port.js";
import type { ConfigMap, ObjectName } from "../../objects.js";
import { type Memory, type Remembered, readMemory, writeMemory } from "../memory.js";

export class MemoryStore {
  readonly #api: KubeApi;
  readonly #name: ObjectName;
  #stored: ConfigMap | undefined;
  #memory: Memory = new Map();

  constructor(api: KubeApi, name: ObjectName) {
    this.#api = api;
    this.#name = name;
  }

  get memory(): Memory {
    return this.#memory;
  }

  async load(): Promise<Memory> {
    const { namespace, name } = this.#name;
    this.#stored = await find<ConfigMap>(this.#api, `${this.#collection}/${encodeURIComponent(name)}`);
    try {
      this.#memory = readMemory(this.#stored?.data);
    } catch (reason) {
      const sentence = `the ConfigMap ${namespace}/${name}, which holds what was approved, cannot be read: ${messageOf(reason)}`;
      throw new DrawbridgeError("DB_CSR_INVENTORY", sentence, { cause: reason });
    }
    return this.#memory;
  }

  /** Fails, and changes nothing, when somebody else wrote since `load`. */
  async remember(changes: Memory, forgotten: readonly string[] = []): Promise<void> {
    const next = new Map<string, Remembered>([...this.#memory, ...changes]);
    for (const name of forgotten) next.delete(name);
    const { namespace, name } = this.#name;
    const data = writeMemory(next);
    if (this.#stored === undefined) {
      const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
      this.#stored = await this.#api.create<ConfigMap>(this.#collection, made);
    } else {
      const path = `${this.#collection}/${encodeURIComponent(name)}`;
      this.#stored = await this.#api.update<ConfigMap>(path, { ...this.#stored, data });
    }
    this.#memory = next;
  }

  get #collection(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.#name.namespace)}/configmaps`;
  }
}

/** The Workers of a namespace: watched while an approver runs, and listed for a single look. */

import { messageOf } from "../../../base/errors/error.js";
import { isNotFound } from "../../kube/errors.js";
import { ListWatch, type ListWatchOptions } from "../../kube/list-watch.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { byName, parseTime } from "../objects.js";
import type { WorkerObject } from "../workers/resource.js";
import { isResourceMissing } from "../workers/resource-install.js";
import type { ExpectedPool, ExpectedWorker, Inventory } from "./inventory.js";
import { isNodeName, Networks, plainAddress } from "./names.js";

type WatchOptions = Pick<ListWatchOptions<WorkerObject>, "clock"> & {
  readonly onChange: () => void;
  readonly onError: (reason: unknown) => void;
};

export class WorkerObjects {
  readonly api: KubeApi;
  readonly namespace: string;
  #watch: ListWatch<WorkerObject> | undefined;
  /** The resource is not installed: there are no Workers. */
  #isMissing = false;
  #onError: (reason: unknown) => void = () => {};
  /** Complaints about Workers, so that each is reported once. */
  #complaints = new Set<string>();

  constructor(api: KubeApi, namespace: string) {
    this.api = api;
    this.namespace = namespace;
  }

  /** Returns at once. */
  start({ onChange, onError, clock }: WatchOptions): void {
    this.#onError = onError;
    this.#watch ??= new ListWatch<WorkerObject>({
      ...{ api: this.api, path: this.#path, ...(clock && { clock }) },
      onChange: () => {
        this.#isMissing = false;
        onChange();
      },
      onError: (reason) => {
        const isNew = isNotFound(reason) && !this.#isMissing;
        this.#isMissing = isNotFound(reason);
        if (isNew) onChange();
        else if (!this.#isMissing) onError(reason);
      },
    });
    this.#watch.start();
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  /** Whether they can be decided by. */
  get synced(): boolean {
    return this.#watch === undefined || this.#watch.synced || this.#isMissing;
  }

  /** By name. */
  async all(): Promise<ReadonlyMap<string, WorkerObject>> {
    if (this.#watch !== undefined) return this.#isMissing ? new Map() : byName(this.#watch.items.values());
    try {
      return byName((await this.api.list<WorkerObject>(this.#path)).items);
    } catch (reason) {
      if (isResourceMissing(reason)) return new Map();
      throw reason;
    }
  }

  /** An inventory: those that are not gone. */
  readonly expected = async (): Promise<Inventory> => {
    const found = new Set<string>();
    const inventory = expectedWorkers((await this.all()).values(), (sentence) => found.add(sentence));
    for (const sentence of found) if (!this.#complaints.has(sentence)) this.#onError(new Error(sentence));
    this.#complaints = found;
    return inventory;
  };

  get #path(): string {
    return collectionPath("Worker", this.namespace);
  }
}

/** What was read of an object: all of them are looked at after each change of one. */
const read = new WeakMap<WorkerObject, ExpectedWorker>();

/** Workers that are not gone. One that cannot be read is not expected, and is reported; the others do not depend on it. */
export function expectedWorkers(objects: Iterable<WorkerObject>, onError: (sentence: string) => void): Inventory {
  const workers = new Map<string, ExpectedWorker>();
  const pools = new Map<string, ExpectedPool>();
  for (const object of objects) {
    const { metadata, spec } = object;
    if (spec?.removed !== undefined || metadata?.deletionTimestamp !== undefined) continue;
    try {
      const worker = read.get(object) ?? expectedWorker(object);
      read.set(object, worker);
      workers.set(worker.name, worker);
      pools.set(worker.pool, { replicas: undefined, workers: (pools.get(worker.pool)?.workers ?? 0) + 1 });
    } catch (reason) {
      onError(`Worker ${metadata?.namespace}/${metadata?.name} cannot be used: ${messageOf(reason)}`);
    }
  }
  return { workers, pools, claims: [] };
}

function expectedWorker({ metadata, spec }: WorkerObject): ExpectedWorker {
  const { name = "" } = metadata ?? {};
  if (!isNodeName(name)) throw new Error("its name is no node's");
  const {
    deadline,
    dnsNames = [],
    ips = [],
    joined = false,
    networks = [],
    notBefore,
    pool = "",
    reinstalled,
  } = spec ?? {};
  if (!/^[^/\s]+\/[^/\s]+$/.test(pool)) throw new Error("pool must be namespace/name");
  const wrongName = dnsNames.find((one) => !isNodeName(one));
  if (wrongName !== undefined) throw new Error(`"${wrongName}" is not a plain DNS name`);
  const addresses = ips.map((text) => {
    const address = plainAddress(text);
    if (address === undefined) throw new Error(`"${text}" is not an address`);
    return address;
  });
  const again = parseTime(reinstalled);
  // Without a window no first certificate is issued.
  const [from, to] = [parseTime(notBefore) ?? 0, parseTime(deadline) ?? 0];
  return {
    ...{ name, pool, dnsNames, ips: addresses, notBefore: from, deadline: to, joined, isObject: true },
    networks: new Networks(networks),
    ...(again === undefined ? {} : { reinstalled: again }),
  };
}

/** Takes over what was remembered of workers before there were Worker objects: the record of a directory, a published inventory. */

import { rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DrawbridgeError, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { readTrustedFile } from "../../../base/trusted-file.js";
import { KubeApiError } from "../../kube/errors.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { readInventory } from "../csr/inventory.js";
import { isNodeName } from "../csr/names.js";
import type { ConfigMap } from "../objects.js";
import { isProvider } from "../providers/index.js";
import { NO_SHAPE } from "../providers/settings.js";
import type { WorkerStore } from "./store.js";
import { type Numbers, type Worker, workersError } from "./worker.js";

interface TakeOver {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly store: WorkerStore;
  /** Called with one line for each worker, and for each place. */
  readonly say: (line: string) => void;
}

/** What cannot be read is refused and stays as it is. A user who may not write leaves it to others. */
export async function takeOver(options: TakeOver): Promise<void> {
  for (const part of [takeOverRecord, takeOverInventory]) {
    await part(options).catch((reason: unknown) => {
      if (!(reason instanceof KubeApiError) || reason.status !== 403) throw reason;
    });
  }
}

const RECORD = "workers.json";

async function takeOverRecord({ say, store }: TakeOver): Promise<void> {
  const path = join(store.directory, RECORD);
  // It holds commands that remove machines, and they are run.
  const text = await readTrustedFile(resolve(path)).catch((reason: unknown) => {
    throw reason instanceof DrawbridgeError ? reason : workersError(`${path} cannot be read: ${messageOf(reason)}`);
  });
  if (text === undefined) return;
  const { numbers, workers } = wrapErrors("DB_WORKERS", `${path} cannot be used`, () => readRecord(text));
  await addAll(store, workers, path, say);
  for (const [prefix, next] of numbers) await useUp(store, prefix, next, workers);
  await rename(path, `${path}.taken-over`);
  say(
    `${path}: its workers are Worker objects now; it was renamed to ${RECORD}.taken-over, and inventory/ is not read any more`,
  );
}

function readRecord(text: string): { workers: readonly Worker[]; numbers: Numbers } {
  const { numbers = {}, workers } = JSON.parse(text) as {
    workers: unknown;
    numbers?: Readonly<Record<string, number>>;
  };
  if (!Array.isArray(workers) || !workers.every(isWorker)) throw new Error("it does not hold workers");
  if (!Object.values(numbers).every(Number.isSafeInteger)) throw new Error("its numbers are none");
  return { workers, numbers: new Map(Object.entries(numbers)) };
}

function isWorker(value: unknown): value is Worker {
  const worker = value as Partial<Worker> | null;
  return (
    typeof worker?.name === "string" &&
    isNodeName(worker.name) &&
    typeof worker.pool === "string" &&
    isProvider(worker.provider) &&
    Array.isArray(worker.ips) &&
    Array.isArray(worker.createCommand) &&
    Array.isArray(worker.deleteCommand)
  );
}

/** The numbers of workers that are gone stay used. */
async function useUp(store: WorkerStore, prefix: string, next: number, workers: readonly Worker[]): Promise<void> {
  if (((await store.numbers()).get(prefix) ?? 0) >= next) return;
  const [like] = workers;
  const name = `${prefix}-${next - 1}`;
  const now = new Date().toISOString();
  const gone = { ...nobody, name, pool: like?.pool ?? `drawbridge/${prefix}`, notBefore: now, deadline: now };
  await store.create([{ ...gone, deadline: new Date(Date.parse(now) + 1).toISOString() }]);
  await store.forget(name);
}

const nobody = {
  ...{ zone: "", provider: "none" as const, shape: NO_SHAPE, hash: "", ips: [], made: true, ownToken: false },
  ...{ createCommand: [], deleteCommand: [] },
};

const INVENTORY = "drawbridge-workers";

/** The ConfigMap that `--publish` wrote. */
async function takeOverInventory({ api, namespace, say, store }: TakeOver): Promise<void> {
  const path = namedPath("ConfigMap", { namespace, name: INVENTORY });
  const map = await find<ConfigMap>(api, path);
  if (map === undefined) return;
  const where = `ConfigMap ${namespace}/${INVENTORY}`;
  const texts = Object.entries(map.data ?? {}).map(([key, text]) => ({ where: `${where} key ${key}`, text }));
  const { workers } = readInventory(texts);
  const time = (at: number) => new Date(at).toISOString();
  const found = [...workers.values()].map(
    ({ deadline, dnsNames, ips, joined, name, notBefore, pool }): Worker => ({
      ...{ ...nobody, name, pool, ips, dnsNames, notBefore: time(notBefore), deadline: time(deadline) },
      ...(joined && { joined }),
    }),
  );
  await addAll(store, found, where, say);
  await deleteIfPresent(api, path);
  say(`${where}: its workers are Worker objects now; it is deleted`);
}

/** A worker that is there already stays as it is, unless it is another pool's. */
async function addAll(store: WorkerStore, workers: readonly Worker[], where: string, say: TakeOver["say"]) {
  const known = new Map((await store.read()).map((worker) => [worker.name, worker]));
  for (const { name, pool } of workers) {
    const other = known.get(name);
    if (other === undefined || other.pool === pool) continue;
    throw workersError(
      `${where} has ${name} as a worker of ${pool}, and it is one of ${other.pool}: take it out there`,
    );
  }
  const fresh = workers.filter(({ name }) => !known.has(name));
  await store.create(fresh);
  for (const { name } of workers) say(`${where}: ${name} ${known.has(name) ? "is a Worker already" : "is taken over"}`);
}

/** A pool with everything that belongs to it, as it is at one moment: what all checks look at. */
import { readFile } from "node:fs/promises";
import { isNotFound } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import type { Policy } from "../csr/case.js";
import type { InventorySource } from "../csr/inventory.js";
import type { MemoryStore } from "../csr/memory.js";
import {
  annotation,
  controlPlaneNamespace,
  type ObjectName,
  pathOf,
  type Secret,
  tokenSecretName,
  userDataSecretName,
} from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { isWorkerTokensSecret } from "../serving/worker-tokens.js";
import { isTokenSecret } from "../token/token-secret.js";
import type { Node } from "../workers/node.js";
import { type Clusters, listNodes } from "../workers/status.js";
import type { WorkerStore } from "../workers/store.js";
import { poolHash } from "../workers/user-data.js";
import type { Worker } from "../workers/worker.js";

/** How the doctor looks, and with whose rules. */
export interface Surgery {
  readonly clusters: Clusters;
  /** Whether machines join another cluster than the pool's. */
  readonly isHosted: boolean;
  readonly store: WorkerStore;
  readonly policy: Policy;
  readonly inventory: InventorySource;
  readonly memory: () => MemoryStore;
  readonly now: () => number;
}

export interface PatientWorker {
  readonly worker: Worker;
  readonly file: string;
  /** Undefined: there is no such file. */
  readonly userData: string | undefined;
  readonly node: Node | undefined;
}

export interface Patient {
  readonly pool: ObjectName;
  readonly object: NodePool;
  /** Empty: the pool has no configuration yet. */
  readonly hash: string;
  readonly controlPlane: string;
  /** Those with tokens of the pool, the current one and former ones. */
  readonly tokenSecrets: readonly Secret[];
  readonly tokenSecret: Secret | undefined;
  readonly userDataSecret: Secret | undefined;
  readonly workerTokens: Secret | undefined;
  readonly workers: readonly PatientWorker[];
  /** Whether only these workers are asked about. */
  readonly isLimited: boolean;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly now: number;
}

/** `names`: only these workers; empty for all of the pool. */
export async function admit(surgery: Surgery, pool: ObjectName, names: readonly string[]): Promise<Patient> {
  const { clusters, now, store } = surgery;
  const { hash, object } = await poolHash(clusters.pools, pool);
  const cluster = { namespace: pool.namespace, name: object.spec?.clusterName ?? "" };
  const controlPlane = controlPlaneNamespace(cluster);
  const secrets = await secretsOf(clusters.pools, pool, [pool.namespace, controlPlane]);
  const nodes = await listNodes(clusters.nodes);
  const named = (name: string) => secrets.find(({ metadata }) => metadata?.name === name);
  const known = (await store.read()).filter(
    ({ name, pool: owner }) => owner === pathOf(pool) && (names.length === 0 || names.includes(name)),
  );
  return {
    ...{ pool, object, hash, controlPlane, nodes, now: now(), isLimited: names.length > 0 },
    tokenSecrets: secrets.filter(isTokenSecret),
    tokenSecret: named(tokenSecretName(pool.name, hash)),
    userDataSecret: named(userDataSecretName(pool.name, hash)),
    workerTokens: secrets.find(isWorkerTokensSecret),
    workers: await Promise.all(known.map((worker) => patientWorker(worker, store, nodes))),
  };
}

/** HyperShift keeps them beside the control plane, our controller beside the pool. */
async function secretsOf(api: KubeApi, pool: ObjectName, namespaces: readonly string[]): Promise<Secret[]> {
  const found: Secret[] = [];
  for (const namespace of namespaces) {
    const { items } = await api.list<Secret>(collectionPath("Secret", namespace)).catch((reason: unknown) => {
      if (isNotFound(reason)) return { items: [] };
      throw reason;
    });
    found.push(...items.filter(({ metadata }) => metadata?.annotations?.[annotation.nodePool] === pathOf(pool)));
  }
  return found;
}

async function patientWorker(
  worker: Worker,
  store: WorkerStore,
  nodes: ReadonlyMap<string, Node>,
): Promise<PatientWorker> {
  const file = store.userDataFile(worker.name);
  const userData = await readFile(file, "utf8").catch((reason: NodeJS.ErrnoException) => {
    if (reason.code === "ENOENT") return undefined;
    throw reason;
  });
  return { worker, file, userData, node: nodes.get(worker.name) };
}

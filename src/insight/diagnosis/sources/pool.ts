/** The facts of a pool with everything that belongs to it, as it is at one moment. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { messageOf } from "../../../base/errors/error.js";
import type { Config } from "../../../cluster/ignition/config.js";
import { requireConfig } from "../../../cluster/ignition/parse.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { decide, snapshotOf } from "../../../cluster/nodes/csr/decide.js";
import type { InventorySource } from "../../../cluster/nodes/csr/inventory.js";
import type { MemoryStore } from "../../../cluster/nodes/csr/memory-store.js";
import type { ApprovalPolicy } from "../../../cluster/nodes/csr/request-context.js";
import { createdAt, foreignRequestOf, type SigningRequest } from "../../../cluster/nodes/csr/signing-request.js";
import {
  annotation,
  controlPlaneNamespace,
  encoded,
  label,
  type ObjectName,
  pathOf,
  type Secret,
  tokenSecretName,
  userDataSecretName,
} from "../../../cluster/nodes/objects.js";
import { isWorkerTokensSecret } from "../../../cluster/nodes/serving/worker-tokens.js";
import { Fetcher, getAsIgnition, shownUrl } from "../../../cluster/nodes/simulate/fetcher.js";
import { isTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { poolHash, readUserData } from "../../../cluster/nodes/token/user-data.js";
import { type Clusters, listNodes } from "../../../cluster/nodes/workers/status.js";
import type { WorkerStore } from "../../../cluster/nodes/workers/store.js";
import type { FactSource } from "../check.js";
import { bootstrapCredential } from "./bootstrap-credential.js";
import { networkSecrets, nodeNetworks } from "./cluster-network.js";

/** The clusters, the records of workers and the rules of the approver by which pools are diagnosed. */
export interface PoolContext {
  readonly clusters: Clusters;
  /** Whether machines join another cluster than the pool's. */
  readonly isHosted: boolean;
  readonly store: WorkerStore;
  readonly policy: ApprovalPolicy;
  readonly inventory: InventorySource;
  readonly memory: () => MemoryStore;
  readonly now: () => number;
}

export type PoolState = Awaited<ReturnType<typeof readPool>>;
export type WorkerState = PoolState["workers"][number];

/** The answer of an Ignition server to a random token. */
export type IgnitionAnswer = Awaited<ReturnType<typeof askServer>>;

export type PendingRequests = Awaited<ReturnType<typeof pendingRequests>>;
export type WaitingRequest = PendingRequests["waiting"][number];

/** `names`: only these workers; empty for all of the pool. */
export function poolSource(context: PoolContext, pool: ObjectName, names: readonly string[]): FactSource {
  return {
    poolState: () => readPool(context, pool, names),
    ignitionAnswers: async (facts) => ignitionAnswers(await facts.get("poolState")),
    bootstrapCredential: async (facts) => bootstrapCredential(await facts.get("poolState")),
    pendingRequests: async (facts) => pendingRequests(context, (await facts.get("poolState")).now),
    networkSecrets: async (facts) => networkSecrets(context, (await facts.get("poolState")).controlPlane),
    nodeNetworks: async (facts) => nodeNetworks(context.clusters, await facts.get("poolState")),
  };
}

async function pendingRequests({ clusters, inventory, memory, policy }: PoolContext, now: number) {
  const { requests, state } = await snapshotOf({ api: clusters.nodes, inventory, store: memory() }, policy, now);
  const age = (request: SigningRequest) => state.now - createdAt(request);
  return {
    waiting: requests.flatMap((request) => {
      const decision = decide(request, state);
      return decision === undefined ? [] : [{ decision, ageMs: age(request) }];
    }),
    /** Of other signers, which others decide. */
    foreign: requests.flatMap((request) => {
      const foreign = foreignRequestOf(request);
      return foreign === undefined ? [] : [{ ...foreign, ageMs: age(request) }];
    }),
  };
}

async function readPool(context: PoolContext, pool: ObjectName, names: readonly string[]) {
  const { clusters, now, store } = context;
  const { hash, object } = await poolHash(clusters.pools, pool);
  const controlPlane = controlPlaneNamespace({ namespace: pool.namespace, name: object.spec?.clusterName ?? "" });
  const secrets = await secretsOf(clusters.pools, pool, [pool.namespace, controlPlane]);
  const nodes = await listNodes(clusters.nodes);
  const named = (name: string) => secrets.find(({ metadata }) => metadata?.name === name);
  const known = (await store.read()).filter(
    ({ name, pool: owner }) => owner === pathOf(pool) && (names.length === 0 || names.includes(name)),
  );
  const workers = known.map(async (worker) => {
    const file = store.userDataFile(worker.name);
    const userData = await readFile(file, "utf8").catch((reason: NodeJS.ErrnoException) => {
      if (reason.code === "ENOENT") return undefined;
      throw reason;
    });
    return { worker, file, userData, node: nodes.get(worker.name) };
  });
  const labelled = [...nodes].filter(([, { metadata }]) => metadata?.labels?.[label.nodePool] === pool.name);
  const others = names.length > 0 ? [] : labelled.map(([name]) => name);
  const members = new Set([...known.map(({ name }) => name), ...others]);
  return {
    ...{ pool, object, controlPlane, nodes, now: now() },
    /** For the repairs that findings offer. */
    context,
    /** Empty: the pool has no configuration yet. */
    hash,
    /** Recorded workers, whether they have joined or not, and nodes with the pool's label. */
    members: [...members].map((name) => ({ name, node: nodes.get(name) })),
    /** Whether only these workers are asked about. */
    isLimited: names.length > 0,
    /** Those with tokens of the pool, the current one and former ones. */
    tokenSecrets: secrets.filter(isTokenSecret),
    tokenSecret: named(tokenSecretName(pool.name, hash)),
    userDataSecret: named(userDataSecretName(pool.name, hash)),
    workerTokens: secrets.find(isWorkerTokensSecret),
    workers: await Promise.all(workers),
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

/** What user data names: where a machine gets its configuration, and with which token. */
export interface UserDataPointer {
  readonly config: Config;
  readonly source: string;
  readonly token: string;
  /** Empty: it does not name one. */
  readonly hash: string;
}

/** A sentence when no machine could use it. */
export function readPointer(text: string): UserDataPointer | string {
  let config: Config;
  try {
    config = requireConfig(text, "it");
  } catch (reason) {
    return `a machine would refuse it: ${messageOf(reason)}`;
  }
  const [resource] = config.ignition.config?.merge ?? [];
  if (resource?.source === undefined) return "it refers to no configuration";
  const header = (name: string) =>
    resource.httpHeaders?.find((each) => each.name.toLowerCase() === name.toLowerCase())?.value;
  const authorization = header("Authorization");
  if (authorization === undefined) return "it has no Authorization header";
  // Exactly as the server reads it.
  const [, base64] =
    /^Bearer ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(authorization) ?? [];
  if (!base64) return "its Authorization header is not the word Bearer and base64";
  const token = Buffer.from(base64, "base64").toString("utf8");
  return { config, source: resource.source, token, hash: header("TargetConfigVersionHash") ?? "" };
}

const TIMEOUT_MS = 5_000;
const LARGEST_ANSWER = 64 * 1024;

/** Asks each address once, however many machines were given it. */
export async function ignitionAnswers({ isLimited, pool, userDataSecret, workers }: PoolState) {
  const texts: [string, string][] = workers.flatMap(({ node, userData, worker }) =>
    node === undefined && userData !== undefined ? [[worker.name, userData]] : [],
  );
  if (userDataSecret && !isLimited) texts.unshift([pathOf(pool), readUserData(userDataSecret)]);
  const servers = new Map<string, { pointer: UserDataPointer; subjects: string[] }>();
  for (const [subject, text] of texts) {
    const pointer = readPointer(text);
    if (typeof pointer === "string") continue;
    const key = JSON.stringify([pointer.source, pointer.config.ignition.security, pointer.config.ignition.proxy]);
    const server = servers.get(key);
    if (server === undefined) servers.set(key, { pointer, subjects: [subject] });
    else server.subjects.push(subject);
  }
  return Promise.all([...servers.values()].map(({ pointer, subjects }) => askServer(pointer, subjects)));
}

/**
 * As machines ask, with their authorities and proxy, but with a random token: a fetch with a real one would count as a
 * machine's. `subjects`: the workers, or the pool, whose user data names the server.
 */
async function askServer({ config, source }: UserDataPointer, subjects: readonly string[]) {
  const url = new URL(source);
  const answer = { source: shownUrl(url), subjects, status: undefined, error: undefined };
  try {
    const { status } = await getAsIgnition(url, {
      headers: { authorization: `Bearer ${encoded(randomUUID())}` },
      trust: await new Fetcher({ timeoutMs: TIMEOUT_MS }).trust(config),
      proxy: config.ignition.proxy,
      headTimeoutMs: TIMEOUT_MS,
      signal: AbortSignal.timeout(2 * TIMEOUT_MS),
      maxBytes: LARGEST_ANSWER,
    });
    return { ...answer, status };
  } catch (error) {
    return { ...answer, error };
  }
}

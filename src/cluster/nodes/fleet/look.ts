/** A pool, its workers' nodes and everything on the way there, as they are at one moment. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { inspectRequest } from "../../../tunnel/pki/inspect-request.js";
import { KubeApiError } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import { configMapInventory } from "../csr/approver/inventory-source.js";
import type { Claim } from "../csr/inventory.js";
import {
  createdAt,
  kindOf,
  NODE_USER_PREFIX,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPem,
  type SigningRequest,
} from "../csr/signing-request.js";
import { type ObjectName, pathOf } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { poolHash } from "../workers/pool-user-data.js";
import type { Worker } from "../workers/worker.js";
import { NODES_PATH, type Node } from "./node.js";

/** Where pools are and where their nodes are: with HyperShift two clusters. */
export interface Clusters {
  readonly pools: KubeApi;
  readonly nodes: KubeApi;
}

/** Of one worker's requests for its first certificate the newest. */
export interface FirstRequest {
  readonly name: string;
  readonly outcome: ReturnType<typeof outcomeOf>;
}

export interface Scene {
  readonly pool: NodePool;
  readonly hash: string;
  /** By name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** By node name; undefined when we may not see requests. */
  readonly requests: ReadonlyMap<string, FirstRequest> | undefined;
  /** Who fetched the pool's configuration. */
  readonly claims: readonly Claim[];
  readonly now: number;
}

export async function lookAtPool(
  clusters: Clusters,
  pool: ObjectName,
  workers: readonly Worker[],
  now: number,
): Promise<Scene> {
  const [{ hash, object }, nodes, claims] = await Promise.all([
    poolHash(clusters.pools, pool),
    listNodes(clusters.nodes),
    claimsOf(clusters.pools, pool),
  ]);
  refuseForeign(clusters, object);
  const missing = workers.filter(({ name }) => !nodes.has(name));
  const requests = missing.length === 0 ? new Map() : await firstRequests(clusters.nodes, missing);
  return { pool: object, hash, nodes, requests, claims, now };
}

/** Nodes of a hosted cluster are not where its pools are; looking there would find all of them missing. */
export function isHosted({ metadata }: NodePool): boolean {
  return metadata?.ownerReferences?.some(({ kind }) => kind === "HostedCluster") === true;
}

export function refuseForeign({ nodes, pools }: Clusters, pool: NodePool): void {
  if (nodes !== pools || !isHosted(pool)) return;
  const { name, namespace } = pool.metadata ?? {};
  const sentence = `pool ${namespace}/${name} is HyperShift's, and its nodes are in the hosted cluster: give --hosted-kubeconfig`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}

export async function listNodes(api: KubeApi): Promise<ReadonlyMap<string, Node>> {
  const { items } = await api.list<Node>(NODES_PATH);
  return new Map(items.map((node) => [node.metadata?.name ?? "", node]));
}

/** Our own Ignition server writes them down; nobody else does, and a broken inventory is the approver's to complain about. */
async function claimsOf(api: KubeApi, pool: ObjectName): Promise<readonly Claim[]> {
  try {
    const { claims } = await configMapInventory(api, pool.namespace)();
    return claims.filter((claim) => claim.pool === pathOf(pool));
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status !== 403) throw reason;
    return [];
  }
}

async function firstRequests(
  api: KubeApi,
  workers: readonly Worker[],
): Promise<ReadonlyMap<string, FirstRequest> | undefined> {
  let items: readonly SigningRequest[];
  try {
    ({ items } = await api.list<SigningRequest>(REQUESTS_PATH));
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status === 403) return undefined;
    throw reason;
  }
  const found = new Map<string, FirstRequest>();
  const oldestFirst = items
    .filter((request) => kindOf(request) === "client")
    .sort((a, b) => createdAt(a) - createdAt(b));
  for (const request of oldestFirst) {
    const name = nodeNameOf(request);
    const worker = workers.find((one) => one.name === name);
    // What was asked before this worker was recorded was asked by another machine of its name.
    if (worker === undefined || createdAt(request) < Date.parse(worker.notBefore) - SKEW_MS) continue;
    found.set(name, { name: requestName(request), outcome: outcomeOf(request) });
  }
  return found;
}

const SKEW_MS = 10_000;

/** Empty when it cannot be read. */
function nodeNameOf(request: SigningRequest): string {
  try {
    const [commonName = ""] = inspectRequest(requestPem(request)).commonNames;
    return commonName.startsWith(NODE_USER_PREFIX) ? commonName.slice(NODE_USER_PREFIX.length) : "";
  } catch {
    return "";
  }
}

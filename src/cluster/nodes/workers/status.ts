/** The status of each worker: how far it has come, and what its next step waits for. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { inspectRequest } from "../../../tunnel/pki/inspect-request.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import { isReady } from "../../kube/pods.js";
import type { KubeApi } from "../../kube/port.js";
import { type Claim, configMapInventory } from "../csr/inventory.js";
import {
  createdAt,
  kindOf,
  nodeNameOf,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPem,
  type SigningRequest,
} from "../csr/signing-request.js";
import { byName, type Node, type ObjectName, pathOf } from "../objects.js";
import type { Condition, NodePool } from "../pool/node-pool.js";
import { poolHash } from "../token/user-data.js";
import { hashOfNode, missingSettings, nodeSettingsOf, whyNotReady } from "./node.js";
import type { Worker } from "./worker.js";

export interface WorkerProblem {
  readonly what: string;
  readonly remedy: string;
}

export interface WorkerStatus {
  readonly name: string;
  readonly made: boolean;
  /** Whether its configuration was fetched: by it, by some machine of the pool, or by nobody that was seen. */
  readonly fetched: "yes" | "by the pool" | "unseen";
  readonly registered: boolean;
  readonly ready: boolean;
  /** Whether the pool's labels and taints are on its node. */
  readonly labelled: boolean;
  readonly configuration: "current" | "behind" | "unknown";
  /** The first thing that is not as it should be. */
  readonly problem: WorkerProblem | undefined;
}

export interface PoolReport {
  readonly name: string;
  readonly hash: string;
  readonly problems: readonly WorkerProblem[];
}

/** Conditions that are always False on platform None, or that are not about workers. */
const IGNORED_CONDITIONS = [
  ...["AutoscalingEnabled", "UpdatingConfig", "UpdatingVersion"],
  ...["AllMachinesReady", "AllNodesHealthy", "ReachedIgnitionEndpoint"],
];

/** Conditions about the endpoint are ignored: nodes that joined are better evidence. */
export function poolReport(name: string, { hash, pool }: Pick<PoolSnapshot, "hash" | "pool">): PoolReport {
  const status = `drawbridge nodepool status ${pool.metadata?.name} shows everything about it`;
  const isWrong = (one: Condition) => one.status === "False" && !IGNORED_CONDITIONS.includes(one.type);
  const wrong = (pool.status?.conditions ?? []).filter(isWrong).map((one) => ({
    what: `${one.type} is False: ${one.message || one.reason}`,
    remedy: status,
  }));
  if (hash !== "") return { name, hash, problems: wrong };
  const nothing = { what: "it has no configuration yet", remedy: `see that its controller runs; ${status}` };
  return { name, hash, problems: wrong.length > 0 ? wrong : [nothing] };
}

function isReached(pool: NodePool): boolean {
  return (
    pool.status?.conditions?.some(({ status, type }) => type === "ReachedIgnitionEndpoint" && status === "True") ===
    true
  );
}

export function workerStatus(worker: Worker, snapshot: PoolSnapshot): WorkerStatus {
  const node = snapshot.nodes.get(worker.name);
  const labelled = node !== undefined && missingSettings(node, nodeSettingsOf(snapshot.pool)).length === 0;
  const fetched = fetchOf(worker, snapshot);
  return {
    ...{ name: worker.name, made: worker.made, fetched, registered: node !== undefined },
    ...{ ready: isReady(node), labelled, configuration: configurationOf(worker, node, snapshot.hash) },
    problem: problemOf(worker, node, fetched, snapshot),
  };
}

export function configurationOf(
  worker: Worker,
  node: Node | undefined,
  hash: string | undefined,
): WorkerStatus["configuration"] {
  if (hash === undefined || hash === "") return "unknown";
  // What the node reports counts more than what it was meant to get.
  return ((node && hashOfNode(node)) ?? worker.hash) === hash ? "current" : "behind";
}

function fetchOf(worker: Worker, { claims, nodes, pool }: PoolSnapshot): WorkerStatus["fetched"] {
  const since = Date.parse(worker.notBefore) - 10_000;
  const recent = claims.filter(({ at }) => at >= since);
  if (nodes.has(worker.name) || recent.some((claim) => claim.worker === worker.name)) return "yes";
  const isNameless = recent.some((claim) => claim.worker === undefined);
  return !worker.ownToken && (isNameless || isReached(pool)) ? "by the pool" : "unseen";
}

function problemOf(
  worker: Worker,
  node: Node | undefined,
  fetched: WorkerStatus["fetched"],
  snapshot: PoolSnapshot,
): WorkerProblem | undefined {
  const { name } = worker;
  if (worker.leaving === "replaced")
    return { what: "it is being replaced", remedy: `go on with drawbridge workers replace ${name}` };
  if (worker.leaving === "removed")
    return { what: "it is being removed", remedy: "go on with drawbridge workers scale" };
  if (!worker.made && node === undefined) {
    return { what: "its machine was not made", remedy: "run drawbridge workers create or up again" };
  }
  if (node === undefined) return joiningProblem(worker, fetched, snapshot);
  const why = whyNotReady(node);
  if (why !== "") return { what: `its node is not Ready: ${why}`, remedy: doctorHint(name) };
  if (node.spec?.unschedulable === true) {
    return { what: "its node is cordoned", remedy: `kubectl uncordon ${name}, unless somebody is at work on it` };
  }
  const missing = missingSettings(node, nodeSettingsOf(snapshot.pool));
  if (missing.length === 0) return undefined;
  return { what: `its node lacks ${missing.join(", ")}`, remedy: "drawbridge workers up puts them there" };
}

function joiningProblem(
  worker: Worker,
  fetched: WorkerStatus["fetched"],
  { now, requests }: PoolSnapshot,
): WorkerProblem {
  const { deadline, name } = worker;
  const request = requests?.get(name);
  if (request?.outcome === "pending") {
    const remedy = `drawbridge csr explain ${request.name} says why; is an approver running that knows the inventory?`;
    return { what: `its certificate request ${request.name} is pending`, remedy };
  }
  if (request?.outcome === "denied" || request?.outcome === "failed") {
    const remedy = `drawbridge csr explain ${request.name} says why; ${doctorHint(name)}`;
    return { what: `its certificate request ${request.name} was ${request.outcome}`, remedy };
  }
  if (request?.outcome === "approved") {
    return {
      what: `it got its certificate (${request.name}), and no node has registered yet`,
      remedy: doctorHint(name),
    };
  }
  if (now > Date.parse(deadline)) {
    const remedy = `drawbridge workers userdata ${name} --renew opens it again; then boot the machine with that user data`;
    return { what: `no node, and the time for its first certificate ended at ${deadline}`, remedy };
  }
  const what = {
    yes: "it fetched its configuration, and has asked for no certificate yet",
    "by the pool": `no node and no certificate request yet; ${worker.pool} was fetched by some machine`,
    unseen: "nobody has seen it fetch its configuration",
  }[fetched];
  return { what, remedy: doctorHint(name) };
}

function doctorHint(name: string): string {
  return `drawbridge workers doctor looks for the cause, of ${name} and the others`;
}

/** The clusters of the pools and of their nodes; with HyperShift these are two. */
export interface Clusters {
  readonly pools: KubeApi;
  readonly nodes: KubeApi;
}

/** A worker's newest request for its first certificate. */
interface FirstCertificateRequest {
  readonly name: string;
  readonly outcome: ReturnType<typeof outcomeOf>;
}

/** A pool, its nodes and their certificate requests at one moment. */
export interface PoolSnapshot {
  readonly pool: NodePool;
  readonly hash: string;
  /** Nodes by name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** First certificate requests by node name; undefined when requests may not be listed. */
  readonly requests: ReadonlyMap<string, FirstCertificateRequest> | undefined;
  /** Claims of machines that fetched the pool's configuration. */
  readonly claims: readonly Claim[];
  readonly now: number;
}

export async function readPool(
  clusters: Clusters,
  pool: ObjectName,
  workers: readonly Worker[],
  now: number,
): Promise<PoolSnapshot> {
  const [{ hash, object }, nodes, claims] = await Promise.all([
    poolHash(clusters.pools, pool),
    listNodes(clusters.nodes),
    claimsOf(clusters.pools, pool),
  ]);
  requireHostedAccess(clusters, object);
  const missing = workers.filter(({ name }) => !nodes.has(name));
  const requests = missing.length === 0 ? new Map() : await firstRequests(clusters.nodes, missing);
  return { pool: object, hash, nodes, requests, claims, now };
}

/** Nodes of a hosted cluster are not where its pools are; looking there would find all of them missing. */
export function isHosted({ metadata }: NodePool): boolean {
  return metadata?.ownerReferences?.some(({ kind }) => kind === "HostedCluster") === true;
}

export function requireHostedAccess({ nodes, pools }: Clusters, pool: NodePool): void {
  if (nodes !== pools || !isHosted(pool)) return;
  const { name, namespace } = pool.metadata ?? {};
  const sentence = `pool ${namespace}/${name} is HyperShift's, and its nodes are in the hosted cluster: give --hosted-kubeconfig`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}

export async function listNodes(api: KubeApi): Promise<ReadonlyMap<string, Node>> {
  return byName((await api.list<Node>(collectionPath("Node"))).items);
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
): Promise<ReadonlyMap<string, FirstCertificateRequest> | undefined> {
  let items: readonly SigningRequest[];
  try {
    ({ items } = await api.list<SigningRequest>(REQUESTS_PATH));
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status === 403) return undefined;
    throw reason;
  }
  const found = new Map<string, FirstCertificateRequest>();
  const oldestFirst = items
    .filter((request) => kindOf(request) === "client")
    .sort((a, b) => createdAt(a) - createdAt(b));
  for (const request of oldestFirst) {
    const name = requestedNode(request);
    const worker = workers.find((one) => one.name === name);
    // What was asked before this worker was recorded was asked by another machine of its name.
    if (worker === undefined || createdAt(request) < Date.parse(worker.notBefore) - SKEW_MS) continue;
    found.set(name, { name: requestName(request), outcome: outcomeOf(request) });
  }
  return found;
}

const SKEW_MS = 10_000;

/** Empty when it cannot be read. */
function requestedNode(request: SigningRequest): string {
  try {
    return nodeNameOf(inspectRequest(requestPem(request)).commonNames[0]);
  } catch {
    return "";
  }
}

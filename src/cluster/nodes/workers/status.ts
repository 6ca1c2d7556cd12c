/** The status of each worker: how far it has come, and what its next step waits for. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { failed, type Judgement } from "../../../base/finding.js";
import { inspectRequest } from "../../../tunnel/pki/inspect-request.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import { isReady } from "../../kube/pods.js";
import type { KubeApi } from "../../kube/port.js";
import { troublesOf } from "../controller/status.js";
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
import type { NodePool } from "../pool/node-pool.js";
import { poolHash } from "../token/user-data.js";
import { hashOfNode, missingSettings, nodeSettingsOf, whyNotReady } from "./node.js";
import type { Worker } from "./worker.js";

export type WorkerStatus = ReturnType<typeof workerStatus>;
export type PoolReport = ReturnType<typeof poolReport>;

/** Conditions that HyperShift has as False on platform None, that say less than the workers do, or that are not about them. */
const IGNORED_CONDITIONS = ["Ready", "AllMachinesReady", "AllNodesHealthy", "ReachedIgnitionEndpoint"];

/** Conditions about the endpoint are ignored: nodes that joined are better evidence. */
export function poolReport(name: string, { hash, pool }: Pick<PoolSnapshot, "hash" | "pool">) {
  const status = `drawbridge nodepool status ${pool.metadata?.name} shows everything about it`;
  const wrong = troublesOf({ conditions: pool.status?.conditions ?? [] })
    .filter(({ type }) => !IGNORED_CONDITIONS.includes(type))
    .map((one) => failed(`${one.type} is False: ${one.message || one.reason}`, status));
  const nothing = failed("it has no configuration yet", `see that its controller runs; ${status}`);
  return { name, hash, problems: hash === "" && wrong.length === 0 ? [nothing] : wrong };
}

export function workerStatus(worker: Worker, snapshot: PoolSnapshot) {
  const node = snapshot.nodes.get(worker.name);
  const missing = node === undefined ? [] : missingSettings(node, nodeSettingsOf(snapshot.pool));
  const fetched = fetchOf(worker, snapshot);
  return {
    ...{ name: worker.name, made: worker.made, fetched, registered: node !== undefined, ready: isReady(node) },
    /** Whether the pool's labels and taints are on its node. */
    labelled: node !== undefined && missing.length === 0,
    configuration: configurationOf(worker, node, snapshot.hash),
    /** The first thing that is not as it should be. */
    problem:
      leavingProblem(worker) ??
      (node === undefined ? joiningProblem(worker, fetched, snapshot) : nodeProblem(node, missing)),
  };
}

export function configurationOf(worker: Worker, node: Node | undefined, hash: string | undefined) {
  if (hash === undefined || hash === "" || runningHash(worker, node) === "") return "unknown";
  // What the node reports counts more than what it was meant to get.
  return runningHash(worker, node) === hash ? "current" : "behind";
}

/** Of the configuration that it runs: what its node says, what it was sent, or else what its user data was made for. */
export function runningHash(worker: Worker, node: Node | undefined): string {
  return (node && hashOfNode(node)) ?? worker.served ?? worker.hash;
}

/** Whether its configuration was fetched: by it, by some machine of the pool, or by nobody that was seen. */
function fetchOf(worker: Worker, { claims, nodes, pool }: PoolSnapshot) {
  const recent = claims.filter(({ at }) => at >= Date.parse(worker.notBefore) - SKEW_MS);
  const isSeen = worker.served !== undefined || recent.some((claim) => claim.worker === worker.name);
  if (nodes.has(worker.name) || isSeen) return "yes";
  const isReached = pool.status?.conditions?.some(
    ({ status, type }) => type === "ReachedIgnitionEndpoint" && status === "True",
  );
  const isNameless = recent.some((claim) => claim.worker === undefined);
  return !worker.ownToken && (isNameless || isReached) ? "by the pool" : "unseen";
}

function leavingProblem({ leaving, name }: Worker): Judgement | undefined {
  if (leaving === undefined) return undefined;
  return failed(
    `it is being ${leaving}`,
    `go on with drawbridge workers ${leaving === "replaced" ? `replace ${name}` : "scale"}`,
  );
}

function nodeProblem(node: Node, missing: readonly string[]): Judgement | undefined {
  const { name = "" } = node.metadata ?? {};
  const why = whyNotReady(node);
  if (why !== "") return failed(`its node is not Ready: ${why}`, doctorHint(name));
  if (node.spec?.unschedulable === true) {
    return failed("its node is cordoned", `kubectl uncordon ${name}, unless somebody is at work on it`);
  }
  if (missing.length === 0) return undefined;
  return failed(`its node lacks ${missing.join(", ")}`, "drawbridge workers up puts them there");
}

function joiningProblem(worker: Worker, fetched: ReturnType<typeof fetchOf>, snapshot: PoolSnapshot): Judgement {
  const { deadline, name } = worker;
  if (!worker.made) return failed("its machine was not made", "run drawbridge workers create or up again");
  const request = snapshot.requests?.get(name);
  if (request !== undefined) {
    const explain = `drawbridge csr explain ${request.name} says why`;
    if (request.outcome === "approved") {
      return failed(`it got its certificate (${request.name}), and no node has registered yet`, doctorHint(name));
    }
    return request.outcome === "pending"
      ? failed(
          `its certificate request ${request.name} is pending`,
          `${explain}; is an approver running that knows the inventory?`,
        )
      : failed(`its certificate request ${request.name} was ${request.outcome}`, `${explain}; ${doctorHint(name)}`);
  }
  if (snapshot.now > Date.parse(deadline)) {
    const remedy = `drawbridge workers userdata ${name} --renew opens it again; then boot the machine with that user data`;
    return failed(`no node, and the time for its first certificate ended at ${deadline}`, remedy);
  }
  const what = {
    yes: "it fetched its configuration, and has asked for no certificate yet",
    "by the pool": `no node and no certificate request yet; ${worker.pool} was fetched by some machine`,
    unseen: "nobody has seen it fetch its configuration",
  }[fetched];
  return failed(what, doctorHint(name));
}

function doctorHint(name: string): string {
  return `drawbridge workers doctor looks for the cause, of ${name} and the others`;
}

/** The clusters of the pools and of their nodes; with HyperShift these are two. */
export interface Clusters {
  readonly pools: KubeApi;
  readonly nodes: KubeApi;
}

export type PoolSnapshot = Awaited<ReturnType<typeof readPool>>;

/** A pool, its nodes, their certificate requests, and the claims of machines that fetched its configuration, at one moment. */
export async function readPool(clusters: Clusters, pool: ObjectName, workers: readonly Worker[], now: number) {
  const [{ hash, object }, nodes, claims] = await Promise.all([
    poolHash(clusters.pools, pool),
    listNodes(clusters.nodes),
    claimsOf(clusters.pools, pool),
  ]);
  requireHostedAccess(clusters, object);
  const missing = workers.filter(({ name }) => !nodes.has(name));
  const requests = missing.length === 0 ? undefined : await firstRequests(clusters.nodes, missing);
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

/** The workers' newest requests for their first certificates, by node name; undefined when requests may not be listed. */
async function firstRequests(api: KubeApi, workers: readonly Worker[]) {
  let items: readonly SigningRequest[];
  try {
    ({ items } = await api.list<SigningRequest>(REQUESTS_PATH));
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status === 403) return undefined;
    throw reason;
  }
  const found = new Map<string, { readonly name: string; readonly outcome: ReturnType<typeof outcomeOf> }>();
  for (const request of [...items].sort((a, b) => createdAt(a) - createdAt(b))) {
    const name = kindOf(request) === "client" ? requestedNode(request) : "";
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

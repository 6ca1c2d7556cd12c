/**
 * Carries a decision out: the request as it is now, not as it was listed, and nothing without a record. Approvals must be
 * remembered before: one that is forgotten would be given twice, one that is not given is given next time.
 */

import { isConflict, isNotFound } from "../../../kube/errors.js";
import { find } from "../../../kube/objects.js";
import { collectionPath, namedPath } from "../../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { type Node, secondTime } from "../../objects.js";
import { countRecentPending, type Decision, type DecisionLog, decide, decisionEntry } from "../decide.js";
import type { InventorySource } from "../inventory.js";
import type { MemoryStore } from "../memory.js";
import { canonicalAddress } from "../names.js";
import type { ApprovalPolicy, ClusterState } from "../request-context.js";
import { decided, REQUESTS_PATH, requestPath, type SigningRequest } from "../signing-request.js";

interface DecisionWriter {
  readonly api: KubeApi;
  readonly log: DecisionLog;
  /** Who decides, for the log: `leader`, `by hand`. */
  readonly by: string;
  /** Asked right before each write. */
  readonly mayWrite: () => boolean;
  readonly despite?: ReadonlySet<string>;
}

type WriteResult =
  | { readonly done: true; readonly decision: Decision }
  /** Somebody else decided, deleted or changed the request, or this replica no longer leads; the next pass finds out. */
  | { readonly done: false; readonly because: string };

export async function carryOut(
  writer: DecisionWriter,
  listed: SigningRequest,
  state: ClusterState,
): Promise<WriteResult> {
  const { api, by, despite = new Set<string>(), log, mayWrite } = writer;
  const path = requestPath(listed.metadata?.name ?? "");
  try {
    const fresh = await api.get<SigningRequest>(path);
    const decision = decide(fresh, state, despite);
    if (decision === undefined) return { done: false, because: "somebody decided it meanwhile" };
    if (decision.action === "leave") return { done: false, because: decision.explanation };
    if (!mayWrite()) return { done: false, because: "another replica leads now" };
    const entry = decisionEntry(decision, fresh, state.now, by);
    log.write(despite.size === 0 ? entry : { ...entry, despite: [...despite] });
    await api.update(`${path}/approval`, decided(fresh, condition(decision, state.now)));
    return { done: true, decision };
  } catch (reason) {
    if (isConflict(reason)) return { done: false, because: "somebody changed it meanwhile" };
    if (isNotFound(reason)) return { done: false, because: "it is gone" };
    throw reason;
  }
}

function condition({ action, explanation, rule }: Decision, now: number) {
  const approves = action === "approve";
  return {
    type: approves ? "Approved" : "Denied",
    reason: approves ? "DrawbridgeApproved" : "DrawbridgeForgery",
    message: approves ? `drawbridge: ${explanation}` : `drawbridge: ${explanation} (rule ${rule})`,
    lastUpdateTime: secondTime(now),
  };
}

/** All requests and the state of the cluster, for commands that read them once. */
export type RequestsSnapshot = Awaited<ReturnType<typeof readRequests>>;

interface LookOptions extends Pick<ClusterState, "policy" | "memory" | "now"> {
  readonly api: KubeApi;
  readonly inventory: InventorySource;
}

export async function readRequests({ api, inventory, memory, now, policy }: LookOptions) {
  const [requests, nodes, read, apiServer] = await Promise.all([
    api.list<SigningRequest>(REQUESTS_PATH),
    api.list<Node>(collectionPath("Node")),
    inventory(),
    apiServerAddresses(api),
  ]);
  const state: ClusterState = {
    now,
    policy,
    inventory: read,
    memory,
    apiServer,
    nodes: new Map(nodes.items.map((node) => [node.metadata?.name ?? "", node])),
    recentPending: countRecentPending(requests.items, now),
  };
  return { requests: requests.items, state };
}

/** A cluster that machines join, the inventory of those that are expected, and the approver's memory. */
export interface CsrAccess {
  readonly api: KubeApi;
  readonly inventory: InventorySource;
  readonly store: MemoryStore;
}

/** The requests and all that decides about them, at this moment. */
export async function snapshotOf(
  { api, inventory, store }: CsrAccess,
  policy: ApprovalPolicy,
): Promise<RequestsSnapshot> {
  return readRequests({ api, inventory, memory: await store.load(), policy, now: Date.now() });
}

interface Service extends KubeObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
}

/** The name that the API server gives to its Service and its EndpointSlice. */
export const API_SERVER_NAME = "kubernetes";
const servicePath = namedPath("Service", { namespace: "default", name: API_SERVER_NAME });
const slicePath = namedPath("EndpointSlice", { namespace: "default", name: API_SERVER_NAME });

/**
 * Addresses at which a cluster reaches its API server, in canonical form: those of the Service kubernetes and of its
 * EndpointSlice. Empty when the cluster has neither.
 */
export async function apiServerAddresses(api: KubeApi): Promise<ReadonlySet<string>> {
  const [service, slice] = await Promise.all([find<Service>(api, servicePath), find<EndpointSlice>(api, slicePath)]);
  const { clusterIP = "", clusterIPs = [] } = service?.spec ?? {};
  const advertised = (slice?.endpoints ?? []).flatMap(({ addresses = [] }) => addresses);
  return new Set([clusterIP, ...clusterIPs, ...advertised].flatMap((address) => canonicalAddress(address) ?? []));
}

/** Decides about one request, says why, and carries the decision out. */

import { isConflict, isNotFound } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { type LineLog, openLineLog } from "../line-log.js";
import { byName, type Node, secondTime } from "../objects.js";
import type { Inventory, InventorySource } from "./inventory.js";
import type { WorkerObjects } from "./inventory-workers.js";
import { heldNamesOf, type Memory, type NodeRecord, sinceReinstall, withApproval } from "./memory.js";
import type { MemoryStore } from "./memory-store.js";
import { plainAddress } from "./names.js";
import {
  type ApprovalPolicy,
  BRAKE_WINDOW_MS,
  type ClusterState,
  namesOf,
  type RequestContext,
  requestContext,
} from "./request-context.js";
import { BRAKE_RULE, firstRules, type Rules, requestRules } from "./rules.js";
import {
  createdAt,
  decided,
  kindOf,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPath,
  requestUid,
  type SigningRequest,
} from "./signing-request.js";

export type Decision = NonNullable<ReturnType<typeof decide>>;

/** Undefined for requests that are not ours to decide: another signer's, and those that somebody decided. */
export function decide(request: SigningRequest, state: ClusterState, despite: ReadonlySet<string> = new Set()) {
  const kind = kindOf(request);
  if (kind === undefined || outcomeOf(request) !== "pending") return undefined;
  const of = requestContext(request, kind, state);
  // Of a request that cannot be read nobody knows whether it keeps the other rules.
  const results = [...apply(firstRules, of), ...(of.facts ? apply(requestRules, { ...of, facts: of.facts }) : [])];
  const broken = results.filter(({ objection, rule, yields }) => objection && !(yields && despite.has(rule)));
  const [first] = broken;
  // In a flood nothing is touched at all, not even forgeries: answering is what a flood is after.
  const mayDeny = state.policy.deniesForgery && first?.rule !== BRAKE_RULE;
  const forgery = mayDeny ? broken.find(({ objection }) => objection?.forgery === true) : undefined;
  const worst = forgery ?? first;
  const action: "approve" | "leave" | "deny" =
    worst === undefined ? "approve" : forgery === undefined ? "leave" : "deny";
  return {
    action,
    /** The first that is broken; `all` when none is. */
    rule: worst?.rule ?? "all",
    explanation: worst?.objection?.why ?? approvalText(of),
    request: requestName(request),
    kind,
    node: of.nodeName,
    pool: of.poolName,
    /** All rules that were applied; the objection is undefined when the rule is kept. */
    findings: results.map(({ objection, ...result }) => ({ ...result, objection: objection?.why })),
    /** What must be remembered when it is approved. */
    remember: remember(of),
  };
}

/** Undecided requests of nodes that are younger than an hour, for the brake. */
export function countRecentPending(requests: Iterable<SigningRequest>, now: number): number {
  let count = 0;
  for (const request of requests) {
    const isYoung = now - createdAt(request) < BRAKE_WINDOW_MS;
    if (isYoung && kindOf(request) !== undefined && outcomeOf(request) === "pending") count++;
  }
  return count;
}

function apply<Context extends RequestContext>(rules: Rules<Context>, of: Context) {
  const own = Object.entries(rules).filter(([, { kinds }]) => kinds.includes(of.kind));
  return own.map(([rule, { check, demands, yields }]) => {
    const found = check(of);
    return { rule, demands, yields, objection: typeof found === "string" ? { why: found } : found };
  });
}

function approvalText({ kind, nodeName, poolName }: RequestContext): string {
  const what = {
    client: "is expected and asks for its first certificate",
    renewal: "renews its client certificate",
    serving: "asks for a serving certificate with names of its own",
  };
  return `${nodeName} of ${poolName ?? "no pool"} ${what[kind]}`;
}

/** A node that a person approved although the inventory does not list it belongs to no pool. */
function remember({ facts, kind, now, poolName = "", remembered, request, worker }: RequestContext): NodeRecord {
  const earlier = remembered?.[kind];
  // Decided again after an interruption: it was approved when it was approved first.
  const approval = earlier?.request === requestName(request) ? earlier : { request: requestName(request), at: now };
  const { reinstalled: installation } = worker ?? {};
  const record = { ...remembered, pool: poolName, ...(installation === undefined ? {} : { installation }) };
  if (kind !== "serving") return { ...record, [kind]: approval };
  const names = facts === undefined ? [] : namesOf(facts);
  const held = withApproval(heldNamesOf(record), requestUid(request), names);
  return { ...record, serving: { ...approval, names }, held };
}

/** The log that gets a line before a request is approved or denied. */
export type DecisionLog = Pick<LineLog<DecisionEntry>, "write">;

/** A log without a path keeps nothing. */
export const openDecisionLog = (path = ""): LineLog<DecisionEntry> =>
  path === "" ? { write: () => {}, close: () => {} } : openLineLog("decision log", path, "DB_CSR_LOG");

export type DecisionEntry = ReturnType<typeof decisionEntry> & { readonly despite?: readonly string[] };

/** `by`: `leader`, `by hand`, `dry run`. */
export function decisionEntry(decision: Decision, request: SigningRequest, now: number, by: string) {
  const { action, explanation, node, pool = "", rule } = decision;
  const { signerName: signer = "", username: user = "" } = request.spec ?? {};
  return {
    ...{ at: new Date(now).toISOString(), by, action, rule, explanation, request: decision.request },
    ...{ uid: request.metadata?.uid ?? "", signer, user, node, pool },
  };
}

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
    // What is remembered is about the one that was listed, and names can be used again.
    if (requestUid(fresh) !== requestUid(listed)) return { done: false, because: "another one has its name by now" };
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

/** A cluster that machines join, the inventory of those that are expected, and the approver's memory. */
export interface CsrAccess {
  readonly api: KubeApi;
  readonly inventory: InventorySource;
  readonly store: MemoryStore;
  /** Undefined when the inventory is in files. */
  readonly workers?: WorkerObjects | undefined;
}

export type RequestsSnapshot = Awaited<ReturnType<typeof snapshotOf>>;

/** All requests and all that decides about them, at this moment. */
export async function snapshotOf({ api, inventory, store }: CsrAccess, policy: ApprovalPolicy, now = Date.now()) {
  const [memory, { items: requests }, nodes, read, apiServer] = await Promise.all([
    store.load(),
    api.list<SigningRequest>(REQUESTS_PATH),
    api.list<Node>(collectionPath("Node")),
    inventory(),
    apiServerAddresses(api),
  ]);
  const recentPending = countRecentPending(requests, now);
  const state: ClusterState = {
    now,
    policy,
    inventory: read,
    memory: currentMemory(memory, read),
    apiServer,
    nodes: byName(nodes.items),
    recentPending,
  };
  return { requests, state };
}

function currentMemory(memory: Memory, { workers }: Inventory): Memory {
  return new Map([...memory].map(([name, of]) => [name, sinceReinstall(of, workers.get(name)?.reinstalled)]));
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
  return new Set([clusterIP, ...clusterIPs, ...advertised].flatMap((address) => plainAddress(address) ?? []));
}

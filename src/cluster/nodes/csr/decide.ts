/** Decides about one request, and says why. */

import { type LineLog, openLineLog } from "../line-log.js";
import { heldNamesOf, type NodeRecord, withApproval } from "./memory.js";
import { BRAKE_WINDOW_MS, type ClusterState, namesOf, type RequestContext, requestContext } from "./request-context.js";
import { BRAKE_RULE, firstRules, type Rules, requestRules } from "./rules.js";
import {
  createdAt,
  kindOf,
  outcomeOf,
  type RequestKind,
  requestName,
  requestUid,
  type SigningRequest,
} from "./signing-request.js";

export interface Decision {
  readonly action: "approve" | "leave" | "deny";
  /** The first that is broken; `all` when none is. */
  readonly rule: string;
  readonly explanation: string;
  readonly request: string;
  readonly kind: RequestKind;
  readonly node: string;
  readonly pool: string | undefined;
  /** All rules that were applied; the objection is undefined when the rule is kept. */
  readonly findings: readonly (Omit<ReturnType<typeof apply>[number], "objection"> & {
    objection: string | undefined;
  })[];
  /** What must be remembered when it is approved. */
  readonly remember: NodeRecord;
}

/** Undefined for requests that are not ours to decide: another signer's, and those that somebody decided. */
export function decide(
  request: SigningRequest,
  state: ClusterState,
  despite: ReadonlySet<string> = new Set(),
): Decision | undefined {
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
  return {
    action: worst === undefined ? "approve" : forgery === undefined ? "leave" : "deny",
    rule: worst?.rule ?? "all",
    explanation: worst?.objection?.why ?? approvalText(of),
    request: requestName(request),
    kind,
    node: of.nodeName,
    pool: of.poolName,
    findings: results.map(({ objection, ...result }) => ({ ...result, objection: objection?.why })),
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
  const own = Object.entries(rules).filter(([, { kinds }]) => kinds?.includes(of.kind) ?? true);
  return own.map(([rule, { check, demands, yields = false }]) => {
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
function remember({ facts, kind, now, poolName = "", remembered, request }: RequestContext): NodeRecord {
  const earlier = remembered?.[kind];
  // Decided again after an interruption: it was approved when it was approved first.
  const approval = earlier?.request === requestName(request) ? earlier : { request: requestName(request), at: now };
  const record = { ...remembered, pool: poolName };
  if (kind !== "serving") return { ...record, [kind]: approval };
  const names = facts === undefined ? [] : namesOf(facts);
  const held = withApproval(heldNamesOf(record), requestUid(request), names);
  return { ...record, serving: { ...approval, names }, held };
}

/** The log that gets a line before a request is approved or denied. */
export type DecisionLog = Pick<LineLog<DecisionEntry>, "write">;

/** A log that keeps nothing. */
export const noDecisionLog: DecisionLog = { write: () => {} };

export const openDecisionLog = (path: string): LineLog<DecisionEntry> =>
  openLineLog("decision log", path, "DB_CSR_LOG");

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

/** Certificate requests of kubelets and what became of them, as the page shows it: from the API, and from a decision log. */
import { type Decision, type DecisionEntry, decide } from "../../cluster/nodes/csr/decide.js";
import {
  createdAt,
  kindOf,
  NODE_USER_PREFIX,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPem,
  type SigningRequest,
} from "../../cluster/nodes/csr/signing-request.js";
import type { DecisionInfo } from "../../insight/observe/admin/contract.js";
import type { Answer, Provider } from "../../insight/watch/overview/source.js";
import { inspectRequest } from "../../tunnel/pki/inspect-request.js";
import { type CsrAccess, type CsrFlags, readPending } from "../csr/shared.js";
import { endOfDecisionLog } from "./page-decision-log.js";

const MAX_DECISIONS = 100;
const MAX_WHY = 500;
const MAX_NAME = 253;

export function pendingDecision(request: SigningRequest, decision: Decision): DecisionInfo {
  const { action, explanation, kind, node, pool, rule } = decision;
  return {
    ...aboutRequest(request, node),
    ...{ kind, outcome: "pending", would: action, why: explanation.slice(0, MAX_WHY), at: createdAt(request) },
    ...(pool === undefined || pool === "" ? {} : { pool }),
    ...(rule === "all" ? {} : { rule }),
  };
}

/** The words of whoever decided are the condition's message. */
export function settledDecision(request: SigningRequest, node: string): DecisionInfo {
  const outcome = outcomeOf(request);
  const kind = kindOf(request);
  const condition = request.status?.conditions?.find(({ type }) => type.toLowerCase() === outcome);
  const said = condition?.message || condition?.reason || "nobody said why";
  const [, why = said, rule] = /^drawbridge: (.*?)(?: \(rule ([\w-]+)\))?$/s.exec(said) ?? [];
  const at = Date.parse(condition?.lastUpdateTime ?? "");
  return {
    ...aboutRequest(request, node),
    ...(kind === undefined ? {} : { kind }),
    ...{ outcome, why: why.slice(0, MAX_WHY), at: Number.isNaN(at) ? createdAt(request) : at },
    ...(rule === undefined ? {} : { rule }),
  };
}

function aboutRequest(request: SigningRequest, node: string) {
  const user = request.spec?.username;
  return {
    ...{ request: requestName(request), node: node.slice(0, MAX_NAME) },
    ...(user === undefined ? {} : { user: user.slice(0, MAX_NAME) }),
  };
}

/** Requests are gone after an hour; the log remembers, and knows who decided. */
export function withLog(known: readonly DecisionInfo[], log: readonly DecisionEntry[]): DecisionInfo[] {
  const entries = new Map(log.map((entry) => [entry.request, entry]));
  const present = known.map((decision) => {
    const entry = entries.get(decision.request);
    entries.delete(decision.request);
    if (entry === undefined || outcomes[entry.action] !== decision.outcome) return decision;
    return { ...decision, by: entry.by, ...(entry.pool === "" ? {} : { pool: entry.pool }) };
  });
  return [...present, ...[...entries.values()].map(loggedDecision)].sort((a, b) => b.at - a.at);
}

const outcomes = { approve: "approved", deny: "denied", leave: "pending" } as const;

/** One whose request is not there any more. */
function loggedDecision({ action, at, by, explanation, node, pool, request, rule, user }: DecisionEntry): DecisionInfo {
  const outcome = action === "leave" ? "gone" : outcomes[action];
  return {
    ...{ request, node, user, by, outcome, why: explanation.slice(0, MAX_WHY), at: Date.parse(at) },
    ...(pool === "" ? {} : { pool }),
    ...(rule === "all" ? {} : { rule }),
  };
}

export function decisionsProvider(access: CsrAccess, flags: CsrFlags, logFile: string, where: string): Provider {
  const ask = async (): Promise<Answer> => {
    const [{ items }, log] = await Promise.all([
      access.api.list<SigningRequest>(REQUESTS_PATH),
      logFile === "" ? [] : endOfDecisionLog(logFile),
    ]);
    const ours = items
      .filter((request) => kindOf(request) !== undefined)
      .sort((a, b) => createdAt(b) - createdAt(a))
      .slice(0, MAX_DECISIONS);
    const all = withLog(await decisionsAbout(ours, access, flags), log);
    const decisions = all.slice(0, MAX_DECISIONS);
    return { findings: { decisions }, leftOut: all.length - decisions.length };
  };
  return { what: "decisions", where, ask };
}

/** Nodes and the inventory are looked at only when something is still to be decided. */
async function decisionsAbout(
  requests: readonly SigningRequest[],
  access: CsrAccess,
  flags: CsrFlags,
): Promise<DecisionInfo[]> {
  const isPending = requests.some((request) => outcomeOf(request) === "pending");
  const look = isPending ? await readPending(flags, access) : undefined;
  return requests.map((request) => {
    const decision = look && decide(request, look.state);
    return decision === undefined ? settledDecision(request, nodeOf(request)) : pendingDecision(request, decision);
  });
}

/** Empty when it cannot be read. */
function nodeOf(request: SigningRequest): string {
  try {
    const [name = ""] = inspectRequest(requestPem(request)).commonNames;
    return name.startsWith(NODE_USER_PREFIX) ? name.slice(NODE_USER_PREFIX.length) : name;
  } catch {
    return "";
  }
}

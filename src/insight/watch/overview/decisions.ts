/** Certificate requests of kubelets and what became of them, as the page shows it: from the API, and from a decision log. */
import { wrapErrors } from "../../../base/errors/error.js";
import { tailOf } from "../../../base/tail.js";
import {
  type CsrAccess,
  type Decision,
  type DecisionEntry,
  decide,
  snapshotOf,
} from "../../../cluster/nodes/csr/decide.js";
import type { ApprovalPolicy } from "../../../cluster/nodes/csr/request-context.js";
import {
  createdAt,
  kindOf,
  NODE_USER_PREFIX,
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPem,
  type SigningRequest,
} from "../../../cluster/nodes/csr/signing-request.js";
import { inspectRequest } from "../../../tunnel/pki/inspect-request.js";
import type { DecisionInfo } from "../../observe/admin/contract.js";
import type { FactProvider, ProvidedFacts } from "./overview.js";

const MAX_DECISIONS = 100;
const MAX_WHY = 500;
const MAX_NAME = 253;

export function pendingDecision(request: SigningRequest, decision: Decision): DecisionInfo {
  const { action, explanation, kind, node, pool, rule } = decision;
  return {
    ...aboutRequest(request, node),
    ...{ kind, outcome: "pending", would: action, why: explanation.slice(0, MAX_WHY), at: createdAt(request) },
    pool: pool || undefined,
    rule: rule === "all" ? undefined : rule,
  };
}

/** Whoever decided gave the reason in the condition's message. */
export function settledDecision(request: SigningRequest, node: string): DecisionInfo {
  const outcome = outcomeOf(request);
  const kind = kindOf(request);
  const condition = request.status?.conditions?.find(({ type }) => type.toLowerCase() === outcome);
  const message = condition?.message || condition?.reason || "no reason was given";
  const [, why = message, rule] = /^drawbridge: (.*?)(?: \(rule ([\w-]+)\))?$/s.exec(message) ?? [];
  const at = Date.parse(condition?.lastUpdateTime ?? "");
  return {
    ...aboutRequest(request, node),
    ...{ kind, outcome, why: why.slice(0, MAX_WHY), at: Number.isNaN(at) ? createdAt(request) : at, rule },
  };
}

function aboutRequest(request: SigningRequest, node: string) {
  const user = request.spec?.username?.slice(0, MAX_NAME);
  return { request: requestName(request), node: node.slice(0, MAX_NAME), user };
}

/** Requests are deleted after an hour; the log keeps them, and who decided. */
export function withLog(known: readonly DecisionInfo[], log: readonly DecisionEntry[]): DecisionInfo[] {
  const entries = new Map(log.map((entry) => [entry.request, entry]));
  const present = known.map((decision) => {
    const entry = entries.get(decision.request);
    entries.delete(decision.request);
    if (entry === undefined || OUTCOMES[entry.action] !== decision.outcome) return decision;
    return { ...decision, by: entry.by, pool: entry.pool || decision.pool };
  });
  return [...present, ...[...entries.values()].map(loggedDecision)].sort((a, b) => b.at - a.at);
}

const OUTCOMES = { approve: "approved", deny: "denied", leave: "pending" } as const;

/** A decision whose request was deleted. */
function loggedDecision({ action, at, by, explanation, node, pool, request, rule, user }: DecisionEntry): DecisionInfo {
  const outcome = action === "leave" ? "gone" : OUTCOMES[action];
  return {
    ...{ request, node, user, by, outcome, why: explanation.slice(0, MAX_WHY), at: Date.parse(at) },
    ...{ pool: pool || undefined, rule: rule === "all" ? undefined : rule },
  };
}

/** `policy`: the rules by which a request that is pending would be judged; `logFile`: empty for none. */
export function decisionsProvider(
  access: CsrAccess,
  policy: ApprovalPolicy,
  logFile: string,
  where: string,
): FactProvider {
  const ask = async (): Promise<ProvidedFacts> => {
    const [{ items }, log] = await Promise.all([
      access.api.list<SigningRequest>(REQUESTS_PATH),
      logFile === "" ? [] : endOfDecisionLog(logFile),
    ]);
    const ours = items
      .filter((request) => kindOf(request) !== undefined)
      .sort((a, b) => createdAt(b) - createdAt(a))
      .slice(0, MAX_DECISIONS);
    const all = withLog(await decisionsAbout(ours, access, policy), log);
    const decisions = all.slice(0, MAX_DECISIONS);
    return { facts: { decisions }, leftOut: all.length - decisions.length };
  };
  return { what: "decisions", where, ask };
}

/** Nodes and the inventory are read only when something is still to be decided. */
async function decisionsAbout(
  requests: readonly SigningRequest[],
  access: CsrAccess,
  policy: ApprovalPolicy,
): Promise<DecisionInfo[]> {
  const isPending = requests.some((request) => outcomeOf(request) === "pending");
  const snapshot = isPending ? await snapshotOf(access, policy) : undefined;
  return requests.map((request) => {
    const decision = snapshot && decide(request, snapshot.state);
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

const TAIL_BYTES = 256 * 1024;
const MAX_ENTRIES = 500;

/** Oldest first. A log that is not there yet is an empty one; lines that are no decisions are passed over. */
export async function endOfDecisionLog(path: string): Promise<DecisionEntry[]> {
  const text = await wrapErrors("DB_CSR_LOG", `the decision log ${path} cannot be read`, async () => {
    try {
      return (await tailOf(path, TAIL_BYTES)).content.toString();
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "ENOENT") throw reason;
      return "";
    }
  });
  return text.split("\n").flatMap(entryIn).slice(-MAX_ENTRIES);
}

const TEXT_FIELDS = ["at", "by", "rule", "explanation", "request", "user", "node", "pool"] as const;

function entryIn(line: string): DecisionEntry[] {
  try {
    const entry = JSON.parse(line) as DecisionEntry;
    const isWhole =
      TEXT_FIELDS.every((name) => typeof entry[name] === "string") && Object.hasOwn(OUTCOMES, entry.action);
    return isWhole ? [entry] : [];
  } catch {
    return [];
  }
}

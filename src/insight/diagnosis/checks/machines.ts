/** What a machine needs after it has its user data: the Ignition server, the approver, and a node that becomes Ready. */
import { messageOf } from "../../../base/errors/error.js";
import { coded, type Judgement, ok, skipped } from "../../../base/finding.js";
import { type Node, pathOf } from "../../../cluster/nodes/objects.js";
import { whyNotReady } from "../../../cluster/nodes/workers/node.js";
import { type CertificateProblem, certificateProblem } from "../../../tunnel/outgoing/facts.js";
import { defineCheck } from "../check.js";
import type { IgnitionAnswer, PendingRequests, PoolState, WaitingRequest } from "../sources/pool.js";
import { approveRequest } from "../workers/fixes.js";

export const ignitionServer = defineCheck({
  ...{ id: "ignition-server", about: "Machines reach the Ignition server and accept its certificate" },
  needs: ["ignitionAnswers"],
  judge: ({ ignitionAnswers }) =>
    ignitionAnswers.map((answer) => {
      const subject = answer.subjects.join(", ");
      const found = ignitionProblem(answer);
      return found === undefined
        ? { ...ok(`${answer.source} answers, with a certificate that machines accept`), subject }
        : { ...found, subject, evidence: [`given to ${subject}`, ...found.evidence] };
    }),
});

const certificateProblems: Readonly<Record<CertificateProblem, string>> = {
  name: "is not for that address",
  expired: "has ended",
  "not-yet-valid": "is not valid yet, or a clock is wrong",
  untrusted: "is signed by another authority than the user data names",
};

const statusMeanings: Readonly<Record<number, string>> = {
  200: "it gives a payload to an unknown token, so it is no Ignition server of a pool",
  401: "something in between removes the Authorization header",
  404: "there is no such path, so it is another server",
};

function ignitionProblem({ error, source, status }: IgnitionAnswer): Judgement | undefined {
  if (status === 511) return undefined;
  if (status !== undefined) {
    const why = statusMeanings[status] ?? "an Ignition server answers 511 to a token that it does not know";
    return coded("DB_NODE_IGNITION_UNREACHABLE", `${source} answers ${status}: ${why}`);
  }
  const { cert, code = "" } = error as { code?: string; cert?: { subjectaltname?: string } };
  const problem = certificateProblem(code);
  if (problem === undefined)
    return coded("DB_NODE_IGNITION_UNREACHABLE", `${source} does not answer`, messageOf(error) || code);
  const names = cert === undefined ? [] : [`its certificate is for ${cert.subjectaltname ?? "no name at all"}`];
  const message = `the certificate of ${source} ${certificateProblems[problem]}, so machines retry for ever`;
  return coded("DB_NODE_IGNITION_NAME", message, code, ...names);
}

export const requests = defineCheck({
  ...{ id: "requests", about: "No certificate request waits", needs: ["poolState", "pendingRequests"] },
  judge({ pendingRequests: { foreign, waiting }, poolState }) {
    const own = waiting.filter((request) => concerns(request, poolState));
    const others = foreign.filter(
      ({ ageMs, node }) => ageMs >= PATIENCE_MS && poolState.members.some(({ name }) => name === node),
    );
    if (own.length + others.length === 0) return ok("no certificate request waits");
    return [...own.map((request) => judgeRequest(request, poolState)), ...others.map(judgeForeign)];
  },
});

/** Whoever decides about other signers' requests does so within seconds. */
const PATIENCE_MS = 60_000;

function judgeForeign({
  ageMs,
  decider,
  node,
  request,
  signer,
  subject,
  user,
}: PendingRequests["foreign"][number]): Judgement {
  const asks = `${request} asks ${signer} for a certificate of ${subject || user} since ${Math.round(ageMs / 1000)} s`;
  return {
    ...coded("DB_NODE_CSR_PENDING", `${asks}, and ${decider} has not decided about it`, `filed by ${user}`),
    ...{ subject: node, state: "warning", remedy: `See that ${decider} runs: drawbridge never approves it.` },
  };
}

/** A request of an unexpected node may be of a worker that is missing from the inventory. */
function concerns({ decision: { node, pool } }: WaitingRequest, { isLimited, pool: own, workers }: PoolState): boolean {
  if (workers.some(({ worker }) => worker.name === node)) return true;
  return !isLimited && (pool === undefined || pool === pathOf(own));
}

/** A running approver needs this long to decide. */
const YOUNG_MS = 5_000;

function judgeRequest({ ageMs, decision }: WaitingRequest, { context }: PoolState): Judgement {
  const { action, explanation, kind, node, request: name, rule } = decision;
  const subject = node || name;
  const code = "DB_NODE_CSR_PENDING" as const;
  const seconds = Math.max(0, Math.round(ageMs / 1000));
  const asks = `${name} asks for a ${kind} certificate of ${node || "nobody"} since ${seconds} s`;
  if (action === "approve") {
    return {
      ...coded(code, `${asks}, keeps every rule, and is not approved`, explanation),
      ...{ subject, state: ageMs < YOUNG_MS ? "warning" : "failed", fix: approveRequest(context, name) },
      remedy: "Start drawbridge csr approver, or approve it now with --fix.",
    };
  }
  const judgement = action === "deny" ? "is refused by every approver as a forgery" : "is not approved by any approver";
  const evidence = [`rule ${rule}`, `drawbridge csr explain ${name} goes through all rules`];
  return {
    ...coded(code, `${asks} and ${judgement}: ${explanation}`, ...evidence),
    ...{ subject, state: action === "deny" ? "warning" : "failed", remedy: remedyFor(rule, node) },
  };
}

function remedyFor(rule: string, node: string): string {
  const known: Readonly<Record<string, string>> = {
    expected: `If ${node} is a machine of yours, record it with drawbridge workers create, or in the inventory; if not, look for whoever has the bootstrap credential.`,
    window: `Open its window again with drawbridge workers userdata ${node} --renew, if the machine is the right one.`,
    "not-joined": "Give a machine that replaces another a name of its own: drawbridge workers replace does.",
    "node-absent": "Delete the Node if its machine is gone: drawbridge workers replace does that, too.",
    claim:
      "See that the machine fetched its configuration from this pool's Ignition server, and that its claims are published.",
    "serving-owner":
      "Remove the worker that has the name or address if its machine is gone, or wait until its certificate ends; if both are there, one of the two is not what it says.",
    "serving-ips": "Record the worker's addresses in the inventory, or name the nodes' network with --node-cidr.",
    "pool-size": "Raise the pool's replicas, or remove workers that are gone.",
  };
  return (
    known[rule] ??
    "Look at the rule with drawbridge csr explain; approve by hand with drawbridge csr approve --despite if it is in order."
  );
}

export const nodesReady = defineCheck({
  ...{ id: "node", about: "The nodes that have joined are Ready", needs: ["poolState", "nodeNetworks"] },
  judge: ({ nodeNetworks, poolState }) =>
    poolState.members.map(({ name, node }) => ({ ...judgeNode(name, node, nodeNetworks.get(name)), subject: name })),
});

function judgeNode(name: string, node: Node | undefined, network: readonly string[] = []): Judgement {
  if (node === undefined) return skipped(`${name} has not joined yet`);
  const why = whyNotReady(node);
  if (why === "") return ok(`node ${name} is Ready`);
  return coded("DB_NODE_NOT_READY", `node ${name} is not Ready`, why, ...network);
}

/** Requests for certificates that wait, with the approver's own explanation. */
import { act, type Look, lookAround } from "../../csr/approver/act.js";
import { type Decision, decide, noDecisionLog } from "../../csr/decide.js";
import { createdAt, requestName, type SigningRequest } from "../../csr/signing-request.js";
import { pathOf } from "../../objects.js";
import { type Ailment, type Fix, fine, trouble } from "../ailment.js";
import type { Patient, Surgery } from "../patient.js";

const ID = "requests";
/** An approver that runs needs a moment. */
const YOUNG_MS = 5_000;

export async function checkRequests(surgery: Surgery, patient: Patient): Promise<Ailment[]> {
  const { clusters, inventory, policy } = surgery;
  const memory = await surgery.memory().load();
  const look = await lookAround({ api: clusters.nodes, inventory, memory, policy, now: patient.now });
  const found: Ailment[] = [];
  for (const request of look.requests) {
    const decision = decide(request, look.around);
    if (decision !== undefined && concerns(decision, patient)) found.push(waiting(surgery, look, request, decision));
  }
  if (found.length > 0) return found;
  return [fine({ id: ID, subject: pathOf(patient.pool) }, "no certificate request waits")];
}

/** What nobody expects could be a worker that is missing from the inventory. */
function concerns({ node, pool }: Decision, { isLimited, pool: own, workers }: Patient): boolean {
  if (workers.some(({ worker }) => worker.name === node)) return true;
  return !isLimited && (pool === undefined || pool === pathOf(own));
}

function waiting(surgery: Surgery, look: Look, request: SigningRequest, decision: Decision): Ailment {
  const { action, explanation, kind, node, request: name, rule } = decision;
  const about = { id: ID, subject: node || name };
  const code = "DB_NODE_CSR_PENDING" as const;
  const ageMs = look.around.now - createdAt(request);
  const asks = `${name} asks for a ${kind} certificate of ${node || "nobody"} since ${Math.max(0, Math.round(ageMs / 1000))} s`;
  if (action === "approve") {
    const state = ageMs < YOUNG_MS ? "warning" : "wrong";
    const finding = `${asks}, keeps every rule, and nobody approves it`;
    const remedy = "Start drawbridge csr approver, or approve it now with --fix.";
    const fix = approval(surgery, name);
    return trouble(about, { code, state, finding, evidence: [explanation], remedy, fix });
  }
  const verdict = action === "deny" ? "is a forgery to any approver" : "is not approved by any approver";
  return trouble(about, {
    ...{ code, state: action === "deny" ? "warning" : "wrong" },
    finding: `${asks} and ${verdict}: ${explanation}`,
    evidence: [`rule ${rule}`, `drawbridge csr explain ${name} goes through all rules`],
    remedy: remedyFor(rule, node),
  });
}

function remedyFor(rule: string, node: string): string {
  const known: Readonly<Record<string, string>> = {
    expected: `If ${node} is a machine of yours, record it with drawbridge workers create, or in the inventory; if not, look for whoever has the bootstrap credential.`,
    window: `Open its window again with drawbridge workers userdata ${node} --renew (--publish where the approver reads a ConfigMap), if the machine is the right one.`,
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

/** As the approver would: everything is looked at again, since what was approved before it counts, and remembered first. */
function approval({ clusters, inventory, memory, now, policy }: Surgery, name: string): Fix {
  const api = clusters.nodes;
  return {
    what: `approve ${name}, as drawbridge csr approver would`,
    apply: async () => {
      const store = memory();
      const look = await lookAround({ api, inventory, memory: await store.load(), policy, now: now() });
      const request = look.requests.find((one) => requestName(one) === name);
      const decision = request && decide(request, look.around);
      if (request === undefined || decision === undefined) return `${name} was left alone: ${DECIDED_MEANWHILE}`;
      if (decision.action !== "approve") return `${name} was left alone: ${decision.explanation}`;
      await store.remember(new Map([[decision.node, decision.remember]]));
      const actor = { api, log: noDecisionLog, by: "doctor", mayWrite: () => true };
      const result = await act(actor, request, { ...look.around, memory: store.memory });
      return result.done
        ? `${name} is approved: ${result.decision.explanation}`
        : `${name} was left alone: ${result.because}`;
    },
  };
}

const DECIDED_MEANWHILE = "somebody decided it meanwhile";

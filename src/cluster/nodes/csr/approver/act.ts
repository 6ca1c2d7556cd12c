/**
 * Carries a decision out: the request as it is now, not as it was listed, and nothing without a record. Approvals must be
 * remembered before: one that is forgotten would be given twice, one that is not given is given next time.
 */
import { isConflict, isNotFound } from "../../../kube/errors.js";
import type { KubeApi } from "../../../kube/port.js";
import type { Surroundings } from "../case.js";
import { type Decision, decide } from "../decide.js";
import { type DecisionLog, entryOf } from "../decision-log.js";
import { decided, requestPath, type SigningRequest } from "../signing-request.js";

export interface Actor {
  readonly api: KubeApi;
  readonly log: DecisionLog;
  /** For the log: `leader`, `by hand`. */
  readonly by: string;
  /** Asked right before each write. */
  readonly mayWrite: () => boolean;
  readonly despite?: ReadonlySet<string>;
}

export type Act =
  | { readonly done: true; readonly decision: Decision }
  /** Somebody decided, removed or changed it meanwhile, or we lost the right to; the next look will tell. */
  | { readonly done: false; readonly because: string };

export async function act(actor: Actor, listed: SigningRequest, around: Surroundings): Promise<Act> {
  const { api, by, despite = new Set<string>(), log, mayWrite } = actor;
  const path = requestPath(listed.metadata?.name ?? "");
  try {
    const fresh = await api.get<SigningRequest>(path);
    const decision = decide(fresh, around, despite);
    if (decision === undefined) return { done: false, because: "somebody decided it meanwhile" };
    if (decision.action === "leave") return { done: false, because: decision.explanation };
    if (!mayWrite()) return { done: false, because: "another replica leads now" };
    const entry = entryOf(decision, fresh, around.now, by);
    await log.write(despite.size === 0 ? entry : { ...entry, despite: [...despite] });
    await api.update(`${path}/approval`, decided(fresh, condition(decision, around.now)));
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
    lastUpdateTime: new Date(now).toISOString().replace(/\.\d+Z$/, "Z"),
  };
}

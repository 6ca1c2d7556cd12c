/** How well a peer or a target is, for its colour: the same findings decide as for the health of the whole. */
import type { Finding } from "../../../base/finding.js";
import { failingShare, type TargetState, targetState } from "../../diagnosis/failing.js";
import type { AgentPeer, DialHistory, ServerPeer, TargetHistory } from "../../observe/admin/contract.js";
import { type PeerState, peerId, peerState } from "./process-view.js";

/** `unknown`: what was last seen of it was bad, and says little of it now. */
export type Severity = "good" | "unknown" | "warn" | "bad";

const OF_STATE: Record<PeerState, Severity> = { ok: "good", draining: "warn", demoted: "warn", failing: "bad" };

/** The checks whose findings name an agent by its ID; others name addresses, which may be somebody's ID. */
const ABOUT_AGENTS: readonly string[] = ["slow-agents", "agents-left"];

/** The agents that something was found about, by their ID. */
export function troublesOf(findings: readonly Finding[]): Map<string, Severity> {
  const troubles = new Map<string, Severity>();
  for (const { check, subject, state } of findings) {
    if (subject === undefined || !ABOUT_AGENTS.includes(check) || (state !== "failed" && state !== "warning")) continue;
    if (troubles.get(subject) !== "bad") troubles.set(subject, state === "failed" ? "bad" : "warn");
  }
  return troubles;
}

/** Its dials do not count: they may fail because of their targets, and who reached those is found by others. */
export const peerSeverity = (peer: AgentPeer | ServerPeer, troubles: ReadonlyMap<string, Severity>): Severity =>
  worse(OF_STATE[peerState(peer)], troubles.get(peerId(peer)) ?? "good");

const OF_TARGET: Record<TargetState, Severity> = {
  ...{ answers: "good", unknown: "unknown", "fails at times": "warn", fails: "bad" },
};

export const targetSeverity = (target: Omit<TargetHistory, "target">): Severity => OF_TARGET[targetState(target)];

/** Of all dials, whatever their targets. */
export function shareSeverity(dialled: DialHistory): Severity {
  const share = failingShare(dialled);
  return share === 0 ? "good" : share > 0.5 ? "bad" : "warn";
}

const RANKS: readonly Severity[] = ["bad", "warn", "unknown", "good"];

/** The worst first. */
export const bySeverity = (one: Severity, other: Severity): number => RANKS.indexOf(one) - RANKS.indexOf(other);

export const worse = (one: Severity, other: Severity): Severity => (bySeverity(one, other) <= 0 ? one : other);

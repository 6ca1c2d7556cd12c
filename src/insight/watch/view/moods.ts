/** How well a peer or a target is, for its colour: the same findings decide as for the health of the whole. */
import type { Finding } from "../../../base/finding.js";
import { failingShare } from "../../diagnosis/failing.js";
import type { AgentPeer, DialHistory, ServerPeer } from "../../observe/admin/contract.js";
import { type PeerState, peerId, peerState } from "./process-view.js";

export type Mood = "good" | "warn" | "bad";

const OF_STATE: Record<PeerState, Mood> = { ok: "good", draining: "warn", demoted: "warn", failing: "bad" };

/** By whom or what each finding names, which is an agent's ID or an address. */
export function troublesOf(findings: readonly Finding[]): Map<string, Mood> {
  const troubles = new Map<string, Mood>();
  for (const { subject, state } of findings) {
    if (subject === undefined || (state !== "failed" && state !== "warning")) continue;
    if (troubles.get(subject) !== "bad") troubles.set(subject, state === "failed" ? "bad" : "warn");
  }
  return troubles;
}

/** An agent that merely tried a dead target is well. */
export function peerMood(peer: AgentPeer | ServerPeer, troubles: ReadonlyMap<string, Mood>): Mood {
  return worse(OF_STATE[peerState(peer)], troubles.get(peerId(peer)) ?? "good");
}

export function targetMood(history: Pick<DialHistory, "dials" | "failures">): Mood {
  const share = failingShare(history);
  return share === 0 ? "good" : share > 0.5 ? "bad" : "warn";
}

const RANKS: readonly Mood[] = ["bad", "warn", "good"];

/** The worst first. */
export const byMood = (one: Mood, other: Mood): number => RANKS.indexOf(one) - RANKS.indexOf(other);

export const worse = (one: Mood, other: Mood): Mood => (byMood(one, other) <= 0 ? one : other);

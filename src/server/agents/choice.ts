/** Which of the agents that match takes the dial. */
import type { AgentLink } from "./agent-link.js";

/** Why an agent would rather not be used; the lower the better. */
export type Standing = "ready" | "demoted" | "draining";
const ORDER: readonly Standing[] = ["ready", "demoted", "draining"];

export function standingOf(link: AgentLink, now: number): Standing {
  if (link.draining) return "draining";
  return link.demotedUntil > now ? "demoted" : "ready";
}

/**
 * Two at random, the less loaded of them; only among those of the best standing there is, and never one that was tried.
 * Two looks are enough to avoid the herd that always picks the emptiest.
 */
export function chooseAmong(
  matches: readonly AgentLink[],
  tried: readonly AgentLink[],
  now: number,
  random: () => number,
): AgentLink | undefined {
  // The common case without a scan: both candidates are in good standing.
  if (matches.length > 0 && tried.length === 0) {
    const one = matches[Math.floor(random() * matches.length)]!;
    const two = matches[Math.floor(random() * matches.length)]!;
    if (standingOf(one, now) === "ready" && standingOf(two, now) === "ready") return lessLoaded(one, two);
  }
  const eligible = matches.filter((link) => !tried.includes(link));
  for (const standing of ORDER) {
    const peers = eligible.filter((link) => standingOf(link, now) === standing);
    if (peers.length === 0) continue;
    const one = peers[Math.floor(random() * peers.length)]!;
    const two = peers[Math.floor(random() * peers.length)]!;
    return lessLoaded(one, two);
  }
  return undefined;
}

function lessLoaded(one: AgentLink, two: AgentLink): AgentLink {
  return two.load < one.load ? two : one;
}

/** Which of the agents that match takes the dial, and on which of its streams. */
import type { AgentLink } from "./agent-link.js";

/** Whether an agent should be used; the earlier in the list the better. */
export type AgentStatus = "ready" | "demoted" | "draining";
export const AGENT_STATUSES: readonly AgentStatus[] = ["ready", "demoted", "draining"];

/** One agent that matches, with those of its streams that do, the oldest first; never none. */
export interface AgentCandidate {
  readonly group: AgentGroup;
  readonly links: readonly AgentLink[];
}

/** Draws before all candidates are looked at: enough unless most of them are demoted or draining. */
const MAX_DRAWS = 4;

/** The agent's status in the choice, on this stream. */
export function statusOf(link: AgentLink, now: number): AgentStatus {
  return AGENT_STATUSES[Math.max(rankOf(link, now), link.group.demotedUntil > now ? 1 : 0)]!;
}

/** Its own place in AGENT_STATUSES, whatever the agent's other streams did. */
function rankOf(link: AgentLink, now: number): number {
  if (link.draining) return 2;
  return link.demotedUntil > now || link.unconfirmed ? 1 : 0;
}

/** The oldest of one agent's streams with the best status, as upstream has it: a newer one does not displace it. */
export function preferredOf(links: readonly AgentLink[], now: number): AgentLink | undefined {
  let preferred: AgentLink | undefined;
  let best = AGENT_STATUSES.length;
  for (const link of links) {
    const rank = rankOf(link, now);
    if (rank >= best) continue;
    preferred = link;
    best = rank;
    if (rank === 0) break;
  }
  return preferred;
}

/**
 * Two agents at random, the less loaded of them; only among those of the best status there is, and not one that was
 * tried while there is another. Two draws are enough to keep all dials from going to the emptiest agent at once.
 */
export function chooseAmong(
  candidates: readonly AgentCandidate[],
  tried: readonly AgentLink[],
  now: number,
  random: () => number,
): AgentLink | undefined {
  if (tried.length === 0) {
    const one = drawReady(candidates, now, random);
    const two = one && drawReady(candidates, now, random);
    if (one !== undefined && two !== undefined) return lessLoaded(one, two);
  }
  const links: AgentLink[] = [];
  const otherStreams: AgentLink[] = [];
  for (const candidate of candidates) {
    const wasTried = tried.some(({ group }) => group === candidate.group);
    const untried = wasTried ? candidate.links.filter((link) => !tried.includes(link)) : candidate.links;
    const link = preferredOf(untried, now);
    if (link !== undefined) (wasTried ? otherStreams : links).push(link);
  }
  return drawBest(links, now, random) ?? drawBest(otherStreams, now, random);
}

/** Undefined when the draws fell on none that is ready. */
function drawReady(candidates: readonly AgentCandidate[], now: number, random: () => number): AgentLink | undefined {
  for (let draw = 0; draw < MAX_DRAWS && candidates.length > 0; draw++) {
    const link = preferredOf(at(candidates, random).links, now);
    if (link !== undefined && statusOf(link, now) === "ready") return link;
  }
  return undefined;
}

function drawBest(links: readonly AgentLink[], now: number, random: () => number): AgentLink | undefined {
  for (const status of AGENT_STATUSES) {
    const peers = links.filter((link) => statusOf(link, now) === status);
    if (peers.length > 0) return lessLoaded(at(peers, random), at(peers, random));
  }
  return undefined;
}

function at<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}

function lessLoaded(one: AgentLink, two: AgentLink): AgentLink {
  return two.load < one.load ? two : one;
}

/**
 * Which streams count as one agent in the choice: those of one connection, and those under one agentID of the same
 * certificate subject or service account.
 *
 * A connection belongs to the group of its first stream, whatever its later ones call themselves. So whoever has many
 * streams counts as often as it has both connections and agentIDs, and an agent cannot merge two others into one by
 * calling itself by both their names.
 */
export class AgentGroup {
  readonly key: string;
  /** All its streams, the oldest first. */
  readonly links: AgentLink[] = [];
  /** Not preferred before this time: its recent dials failed for reasons of the agent's own. */
  demotedUntil = 0;
  ownFailures = 0;

  constructor(key: string) {
    this.key = key;
  }
}

/**
 * How many agents share the search for servers. Agents with the same identifiers serve the same destinations, so for a new
 * server one of them is as good as another.
 */
import type { AgentIdentity } from "./agent-link.js";

type Searcher = Pick<AgentIdentity, "agentId" | "identifierText">;

/** Where each agent has identifiers of its own, as many sets as this search at the full pace, and more share that. */
const FULL_PACE_SETS = 10;

export class Searchers {
  /** By identifiers and agentID, the number of streams: an agent that searches has a second one for a moment. */
  readonly #sets = new Map<string, Map<string, number>>();

  add({ agentId, identifierText }: Searcher): void {
    const agents = this.#sets.get(identifierText) ?? new Map<string, number>();
    agents.set(agentId, (agents.get(agentId) ?? 0) + 1);
    this.#sets.set(identifierText, agents);
  }

  remove({ agentId, identifierText }: Searcher): void {
    const agents = this.#sets.get(identifierText)!;
    const left = agents.get(agentId)! - 1;
    if (left > 0) agents.set(agentId, left);
    else agents.delete(agentId);
    if (agents.size === 0) this.#sets.delete(identifierText);
  }

  /** What an agent is told that is about to be added, or is there already. */
  with({ agentId, identifierText }: Searcher): number {
    const agents = this.#sets.get(identifierText);
    const together = (agents?.size ?? 0) + (agents?.has(agentId) ? 0 : 1);
    const sets = this.#sets.size + (agents === undefined ? 1 : 0);
    return Math.ceil((together * Math.max(sets, FULL_PACE_SETS)) / FULL_PACE_SETS);
  }
}

/**
 * Which streams count as one agent in the choice: those of one connection, and those under one agentID of the same
 * certificate subject or service account.
 *
 * A connection belongs to the group of its first stream, whatever its later ones call themselves. So whoever has many
 * streams counts as often as it has both connections and agentIDs, and an agent cannot merge two others into one by
 * calling itself by both their names.
 */
import type { AgentLink } from "./agent-link.js";

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

export class AgentGroups {
  readonly #byKey = new Map<string, AgentGroup>();
  readonly #byConnection = new WeakMap<object, AgentGroup>();

  /** Agents, counted as the choice counts them. */
  get size(): number {
    return this.#byKey.size;
  }

  add(link: AgentLink): AgentGroup {
    let group = this.#byConnection.get(link.connection);
    if (group === undefined || group.links.length === 0) {
      group = this.#byKey.get(link.identity.groupKey) ?? new AgentGroup(link.identity.groupKey);
      this.#byKey.set(group.key, group);
      this.#byConnection.set(link.connection, group);
    }
    group.links.push(link);
    return group;
  }

  remove(link: AgentLink): void {
    const { group } = link;
    const at = group.links.indexOf(link);
    if (at >= 0) group.links.splice(at, 1);
    if (group.links.length === 0) this.#byKey.delete(group.key);
  }
}

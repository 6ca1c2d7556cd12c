import type { ChoiceExplanation } from "../../events/facts.js";
import type { AgentLink } from "./agent-link.js";
import { statusOf } from "./choice.js";
import type { AgentRegistry } from "./registry.js";

/** More would make a log line nobody reads. */
const EXPLAINED_AGENTS = 20;

/**
 * Why nobody took a dial, or who would: for the log and the admin API, never for the caller. `tried` are the streams that
 * were asked to dial, when the dial has failed; undefined: nobody has dialled.
 */
export function explainChoice(
  registry: AgentRegistry,
  address: string,
  tried: readonly AgentLink[] | undefined,
  now: number,
): ChoiceExplanation {
  const { host, isReserved, strategies } = registry.matchesFor(address);
  const links = [...registry.links()];
  const isMatch = (link: AgentLink) =>
    strategies.some(({ candidates }) => candidates.some((candidate) => candidate.links.includes(link)));
  const passedOver = (link: AgentLink): string => {
    if (tried?.includes(link)) return "its dial failed and was not tried there again";
    if (isMatch(link)) return tried === undefined ? "it matches" : "it matches, but the dial was over before its turn";
    if (isReserved) return "the host is reserved for agents that claim it, and it does not";
    return "no strategy matches its identifiers with this host";
  };
  return {
    address,
    host,
    agentsConnected: links.length,
    strategies: strategies.map(({ name, keys, candidates }) => ({ name, keys, matches: candidates.length })),
    considered: links.slice(0, EXPLAINED_AGENTS).map((link) => ({
      agentId: link.identity.agentId,
      stream: link.number,
      identifiers: link.identity.identifierText,
      status: statusOf(link, now),
      load: link.load,
      passedOver: passedOver(link),
    })),
  };
}

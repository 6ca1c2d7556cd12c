/** Tunnels and queues per agent, with a bound on how many agents get a series of their own. */
import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { Sample } from "../../../base/metrics/registry.js";
import type { AgentLoad, ServerReadings } from "../../../tunnel/events/readings.js";

/** A cluster of thousands of agents must not become thousands of series on every scrape. */
const MAX_AGENTS = 500;
/** Agent ids are whatever an agent says. */
const MAX_ID_LENGTH = 128;
/** Not a value an agent is likely to choose. */
const OTHERS = "(others)";

export function agentLoads({ registry }: EventMetrics, { agents }: Pick<ServerReadings, "agents">): void {
  const others = `agents beyond the first ${MAX_AGENTS} are added up as ${OTHERS}.`;
  const gauge = (name: string, help: string, value: "tunnels" | "queuedBytes"): void =>
    registry.gauge(`drawbridge_server_agent_${name}`, `${help}; ${others}`, () =>
      Array.from(addedUp(agents()), ([agentId, load]): Sample => [{ agent_id: agentId }, load[value]]),
    );
  gauge("tunnels", "Open tunnels per agent", "tunnels");
  gauge("queued_bytes", "Bytes waiting for slow readers per agent", "queuedBytes");
}

/** First come, first shown: series stay the same from scrape to scrape while agents stay. */
function addedUp(agents: Iterable<AgentLoad>): Map<string, { tunnels: number; queuedBytes: number }> {
  const loads = new Map<string, { tunnels: number; queuedBytes: number }>();
  for (const { agentId, tunnels, queuedBytes } of agents) {
    const id = agentId.slice(0, MAX_ID_LENGTH);
    const key = loads.has(id) || loads.size < MAX_AGENTS ? id : OTHERS;
    const load = loads.get(key) ?? { tunnels: 0, queuedBytes: 0 };
    load.tunnels += tunnels;
    load.queuedBytes += queuedBytes;
    loads.set(key, load);
  }
  return loads;
}

/** Tunnels and queues per agent, with a bound on how many agents get a series of their own. */
import { gaugesRead, type MetricsRegistry, type Sample } from "../../../base/metrics/registry.js";
import type { AgentLoad } from "../../../tunnel/events/readings.js";

/** A cluster of thousands of agents must not become thousands of series on every scrape. */
const MAX_AGENTS = 500;
/** Agent ids are whatever an agent says. */
const MAX_ID_LENGTH = 128;
/** Not a value an agent is likely to choose. */
const OTHERS = "(others)";

interface Load {
  tunnels: number;
  queuedBytes: number;
}

export function agentLoads(registry: MetricsRegistry, readings: { agents(): Iterable<AgentLoad> }): void {
  const gauges = (name: string, help: string, value: (load: Load) => number) =>
    gaugesRead(registry, `drawbridge_server_agent_${name}`, help, function* (): Iterable<Sample> {
      for (const [agentId, load] of foldLoads(readings.agents())) yield [{ agent_id: agentId }, value(load)];
    });
  gauges(
    "tunnels",
    `Open tunnels per agent; agents beyond the first ${MAX_AGENTS} are added up as ${OTHERS}.`,
    (load) => load.tunnels,
  );
  gauges(
    "queued_bytes",
    `Bytes waiting for slow readers per agent; agents beyond the first ${MAX_AGENTS} are added up as ${OTHERS}.`,
    (load) => load.queuedBytes,
  );
}

/** First come, first shown: series stay the same from scrape to scrape while agents stay. */
function foldLoads(agents: Iterable<AgentLoad>): Map<string, Load> {
  const loads = new Map<string, Load>();
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

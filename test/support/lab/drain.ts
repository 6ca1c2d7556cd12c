import { metric } from "./metrics.js";
import { AGENT_METRIC, type ProxyAgent } from "./proxy-agent.js";
import type { ProxyServer } from "./proxy-server.js";
import { until } from "./wait.js";

/**
 * Ends an agent of upstream's without losing a tunnel. It does not know when it is done, so whoever ends it has to: the
 * first signal makes it drain, and once its servers know and it carries nothing any more, the second one ends it.
 */
export async function drainByHand(agent: ProxyAgent, servers: Iterable<ProxyServer>, withinMs: number): Promise<void> {
  const known = [...servers];
  const isNote = (line: string) => line.includes("agent is draining") && line.includes(agent.name);
  const notes = () => known.map((server) => server.log().split("\n").filter(isNote).length);
  const before = notes();
  agent.signal();
  await until("every server to know that the agent is leaving", withinMs, () => {
    return notes().every((count, server) => count > before[server]!);
  });
  await until("the agent to be without tunnels", withinMs, async () => {
    return metric(await agent.metrics(), `${AGENT_METRIC}_open_endpoint_connections`) === 0;
  });
  await agent.leave(withinMs);
}

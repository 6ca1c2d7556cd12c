/** A proxy-agent as a process: everything around it that a person or a cluster sees, and its end. */
import { startAgentAdmin } from "../observe/admin.js";
import { listening } from "../observe/channels.js";
import { startAgentHealth } from "../observe/health.js";
import { Logger } from "../observe/log.js";
import { logEvents } from "../observe/log-events.js";
import { AgentMetrics } from "../observe/metrics/agent-metrics.js";
import { nextSignal } from "../observe/signals.js";
import { readCertificateSet } from "../pki/certificate-set.js";
import { ProxyAgent } from "./agent.js";
import type { AgentConfig } from "./config.js";

/** Resolves to the exit code when the process should end. */
export async function runAgent(
  config: AgentConfig,
  logging: { readonly verbosity: number; readonly format: "text" | "json" },
): Promise<number> {
  // Later attempts read the files again; a mistake that is there from the start is better told at once.
  readCertificateSet(config.tls);
  const agent = new ProxyAgent(config);
  const logger = new Logger(logging);
  logEvents(logger, agent);
  const metrics = new AgentMetrics(agent, agent.readings());
  const health = await startAgentHealth(
    config.health,
    { ready: () => agent.ready, why: () => agent.unreadyReason },
    metrics.registry,
  );
  const admin = await startAgentAdmin(config.admin, config.health.port, {
    source: agent,
    tokenFile: config.admin.tokenFile,
    profiling: config.admin.profiling,
    resources: {
      servers: { list: () => agent.describeServers() },
      tunnels: { list: () => agent.describeTunnels() },
    },
  });
  listening.publish({ source: agent, what: "health", address: health.address });
  listening.publish({ source: agent, what: "admin", address: admin.address });
  agent.start();

  logger.info(0, "proxy-agent is up", { agentId: config.agentId, identifiers: config.identifiers });
  const signal = await nextSignal();
  logger.info(0, "draining: other agents are preferred from now on", { signal });
  agent.drain();
  const code = await Promise.race([nextSignal().then(() => 1), drained(agent, config.drainTimeoutMs)]);
  await Promise.all([agent.stop(), health.close(), admin.close()]);
  await logger.close();
  return code;
}

const IDLE_CHECK_MS = 200;

/** Once no tunnel is left, or time is up. Without a limit only a second signal ends the process, as upstream has it. */
async function drained(agent: ProxyAgent, limitMs: number): Promise<number> {
  if (limitMs === 0) return new Promise(() => {});
  const deadline = Date.now() + limitMs;
  // Dials that were on their way before the server heard of the drain still arrive.
  do await new Promise((resolve) => setTimeout(resolve, IDLE_CHECK_MS));
  while (!agent.idle && Date.now() < deadline);
  return 0;
}

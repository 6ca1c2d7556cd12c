/** A proxy-agent as a process: everything around it that a person or a cluster sees, and its end. */

import { startAgentHealth } from "../../base/health.js";
import { Logger } from "../../base/log/log.js";
import { nextSignal } from "../../base/signals.js";
import { startAdmin } from "../../insight/observe/admin.js";
import { logEvents } from "../../insight/observe/log-events.js";
import { AgentMetrics } from "../../insight/observe/metrics/agent-metrics.js";
import { DumpFiles } from "../../insight/observe/recorder/dump-files.js";
import { tellOfCrash } from "../../insight/observe/recorder/dump-moments.js";
import { AgentSubject } from "../../insight/observe/roles/agent.js";
import { ProxyAgent } from "../../tunnel/agent/agent.js";
import type { AgentConfig } from "../../tunnel/agent/config.js";
import { systemClock } from "../../tunnel/connection/clock.js";
import { listening } from "../../tunnel/events/channels.js";
import { readCertificateSet } from "../../tunnel/pki/certificate-set.js";
import { CertificateFiles } from "../../tunnel/pki/reload.js";

/** Resolves to the exit code when the process should end. */
export async function runAgent(
  config: AgentConfig,
  logging: { readonly verbosity: number; readonly format: "text" | "json" },
  version: string,
): Promise<number> {
  // Later attempts read the files again; a mistake that is there from the start is better told at once.
  readCertificateSet(config.tls);
  const agent = new ProxyAgent(config, systemClock, `drawbridge/${version}`);
  const logger = new Logger(logging);
  logEvents(logger, agent);
  const metrics = new AgentMetrics(agent, agent.readings());
  const health = await startAgentHealth(
    config.health,
    { ready: () => agent.ready, why: () => agent.unreadyReason },
    metrics.registry,
  );
  const { dumpDir = "" } = config;
  if (agent.flights !== undefined && dumpDir !== "") {
    tellOfCrash({ source: agent, flights: agent.flights, files: new DumpFiles(dumpDir) });
  }
  const subject = new AgentSubject(agent);
  const { tokenFile, profiling, tls } = config.admin;
  // Without a token nobody can ask, and nothing has to be remembered.
  if (tokenFile !== "") subject.remember();
  const admin = await startAdmin(
    config.admin,
    { healthPort: config.health.port },
    {
      ...{ source: agent, version, subject, refusals: subject.refusals, ended: subject.ended, tokenFile, profiling },
      tls: tls && { certFile: tls.certFile, follow: (events) => new CertificateFiles(tls, events) },
    },
  );
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

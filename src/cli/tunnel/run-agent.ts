/** A proxy-agent as a process: everything around it that a person or a cluster sees, and its end. */

import { causeFields, messageOf } from "../../base/errors/error.js";
import { startAgentHealth } from "../../base/health.js";
import { Logger, type LoggerOptions } from "../../base/log/log.js";
import { nextSignal } from "../../base/signals.js";
import type { KubeAccess } from "../../cluster/kube/open.js";
import type { LeaseCount } from "../../cluster/membership/lease-count.js";
import { logEvents } from "../../insight/observe/log-events.js";
import { agentMetrics } from "../../insight/observe/metrics/agent-metrics.js";
import { dumpOnCrash } from "../../insight/observe/recorder/dumps.js";
import { ObservedAgent } from "../../insight/observe/roles/agent.js";
import { ProxyAgent } from "../../tunnel/agent/agent.js";
import type { AgentConfig } from "../../tunnel/agent/config.js";
import { leaseListed, leaseWatched, listening, noteChannel } from "../../tunnel/events/channels.js";
import { readCertificateSet } from "../../tunnel/pki/certificate-set.js";
import { type StartFacts, warnFromNowOn } from "../../tunnel/start-warnings.js";
import { VERSION } from "../framework/define.js";
import { announceWait, impatience, openAdmin } from "./role-process.js";

export interface AgentProcessConfig extends AgentConfig {
  /** Set when --count-server-leases is given. */
  readonly leases?: { readonly namespace: string; readonly labelSelector: string };
  readonly kube: KubeAccess;
}

/** Resolves to the exit code when the process should end. */
export async function runAgent(config: AgentProcessConfig, logging: LoggerOptions): Promise<number> {
  // Later attempts read the files again; a mistake that is there from the start is reported at once.
  readCertificateSet(config.tls);
  let leases: LeaseCount | undefined;
  const agent = new ProxyAgent(config, { program: `drawbridge/${VERSION}`, countServers: () => leases?.count() });
  const logger = new Logger(logging);
  logEvents(logger, agent);
  const endWarnings = warnFromNowOn(logger, startFactsOf(config));
  const metrics = agentMetrics(agent, agent.readings());
  const health = await startAgentHealth(
    config.health,
    { ready: () => agent.ready, why: () => agent.unreadyReason, some: () => agent.missingServers !== undefined },
    metrics.registry,
  );
  const { dumpDir = "" } = config;
  if (agent.flights !== undefined && dumpDir !== "") dumpOnCrash(agent.flights, dumpDir);
  const admin = await openAdmin(config.admin, { healthPort: config.health.port }, agent, new ObservedAgent(agent));
  listening.publish({ source: agent, what: "health", address: health.address });
  listening.publish({ source: agent, what: "admin", address: admin.address });
  agent.start();
  leases = await countLeases(config, agent);

  logger.info(0, "proxy-agent is up", { agentId: config.agentId, identifiers: config.identifiers });
  const signal = await nextSignal();
  // Before anything is announced: a signal that nobody waits for ends the process as it is.
  const impatient = impatience(logger);
  const { drainTimeoutMs } = config;
  const left = { signal, tunnels: agent.readings().openEndpointConnections() };
  const draining = "draining: other agents are preferred from now on";
  if (drainTimeoutMs === 0) logger.info(0, `${draining}, and only a second signal ends this one`, left);
  else announceWait(logger, draining, left, drainTimeoutMs);
  agent.drain();
  const code = await Promise.race([impatient, drained(agent, drainTimeoutMs, logger)]);
  endWarnings();
  await Promise.all([agent.stop(), leases?.stop(), health.close(), admin.close()]);
  logger.info(0, "proxy-agent has ended");
  await logger.close();
  return code;
}

function startFactsOf({ tls, admin, tokenFile, identifiers }: AgentProcessConfig): StartFacts {
  return {
    certFiles: [tls.certFile, tls.caFile, admin.tls?.certFile ?? ""],
    caFiles: [tls.caFile],
    keyFiles: [tls.keyFile, admin.tls?.keyFile ?? ""],
    adminTokenFile: admin.tokenFile,
    agentTokenFile: tokenFile,
    identifiers,
  };
}

/** The Kubernetes client is only loaded when a flag asks for it: it is heavier than all the rest. */
async function countLeases(config: AgentProcessConfig, agent: ProxyAgent): Promise<LeaseCount | undefined> {
  if (config.leases === undefined) return undefined;
  const [{ LeaseCount }, { openKubeApi }] = await Promise.all([
    import("../../cluster/membership/lease-count.js"),
    import("../../cluster/kube/open.js"),
  ]);
  return new LeaseCount({
    ...config.leases,
    openApi: () => openKubeApi(config.kube),
    onRequest: (verb, status, seconds, reason) => {
      const channel = verb === "list" ? leaseListed : leaseWatched;
      channel.publish({ source: agent, status, durationMs: seconds * 1000, reason });
    },
    onError(reason) {
      const message = `counting server leases: ${messageOf(reason)}`;
      noteChannel.publish({ source: agent, level: "warn", message, fields: causeFields(reason) });
    },
  });
}

/** Once no tunnel is left, or time is up. Without a limit only a second signal ends the process, as upstream has it. */
async function drained(agent: ProxyAgent, limitMs: number, logger: Logger): Promise<number> {
  if (limitMs === 0) return new Promise(() => {});
  const cut = await agent.drained(limitMs);
  if (cut > 0) logger.warn("tunnels were still open at the end of the drain and are cut", { cut });
  return 0;
}

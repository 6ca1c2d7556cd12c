/** A proxy-server as a process: everything around it that a person or a cluster sees, and its end. */

import { systemClock } from "../../base/clock.js";
import { causeFields } from "../../base/errors/error.js";
import { firstAgentRoute, startServerHealth } from "../../base/health.js";
import { Logger, type LoggerOptions } from "../../base/log/log.js";
import { systemRuntime } from "../../base/runtime.js";
import type { KubeAccess } from "../../cluster/kube/open.js";
import { logEvents } from "../../insight/observe/log-events.js";
import { serverMetrics } from "../../insight/observe/metrics/server-metrics.js";
import { dumpOnCrash, dumpOnStall } from "../../insight/observe/recorder/dumps.js";
import { ObservedServer } from "../../insight/observe/roles/server.js";
import { leaseDeleted, leaseListed, leasesCulled, listening, noteChannel } from "../../tunnel/events/channels.js";
import type { ServerConfig } from "../../tunnel/server/config.js";
import { ProxyServer, type ServerParts } from "../../tunnel/server/server.js";
import { type StartFacts, warnFromNowOn } from "../../tunnel/start-warnings.js";
import { announceWait, openAdmin, untilEnded } from "./role-process.js";

export interface ServerProcessConfig extends ServerConfig {
  readonly kube: KubeAccess;
  /** Set when --enable-lease-controller is given. */
  readonly leases?: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
}

/** Resolves to the exit code when the process should end. */
export async function runServer(config: ServerProcessConfig, logging: LoggerOptions): Promise<number> {
  const api = config.leases === undefined ? undefined : await openApi(config);
  const server = new ProxyServer(config, await loadParts(config));
  const logger = new Logger(logging);
  logEvents(logger, server);
  const endWarnings = warnFromNowOn(logger, startFactsOf(config));
  const metrics = serverMetrics(server, server.readings());
  const { dumpDir = "" } = config;
  const { flights } = server.board;
  if (flights !== undefined) {
    dumpOnStall(server, flights, dumpDir);
    if (dumpDir !== "") dumpOnCrash(flights, dumpDir);
  }
  const readiness = { ready: () => server.ready, why: () => server.unreadyReason, but: () => server.readyBut };
  const health = await startServerHealth(config.health, readiness, metrics.registry, {
    "/readyz/first-agent": firstAgentRoute({ ...readiness, draining: () => server.draining }, systemClock),
  });
  const admin = await openAdmin(config.admin, metrics.registry, server, new ObservedServer(server));
  await server.start();
  listening.publish({ source: server, what: "health", address: health.address });
  listening.publish({ source: server, what: "admin", address: admin.address });
  const leases = await startLeases(config, api, server);

  logger.info(0, "proxy-server is up", { serverId: config.serverId, serverCount: config.serverCount });
  return await untilEnded(logger, async (signal) => {
    const { gracefulShutdownMs } = config;
    if (gracefulShutdownMs === 0) logger.info(0, "shutting down", { signal });
    else
      announceWait(logger, "shutting down", { signal, tunnels: server.board.establishedTunnels }, gracefulShutdownMs);
    // At once: who counts servers should no longer count this one while its tunnels finish.
    const withdrawn = leases?.stop();
    if (gracefulShutdownMs > 0) await server.drain(gracefulShutdownMs);
    endWarnings();
    // First: whoever is served while the rest takes its time would be cut.
    await server.stop();
    await Promise.all([health.close(), admin.close(), withdrawn]);
    logger.info(0, "proxy-server has ended");
  });
}

function startFactsOf({ agents, listeners, admin, serverCount, leases }: ServerProcessConfig): StartFacts {
  const sets = [agents.tls, ...listeners.flatMap((each) => (each.transport === "tcp" ? [each.tls] : []))];
  return {
    certFiles: [...sets.flatMap((each) => [each.certFile, each.clientCaFile]), admin.tls?.certFile ?? ""],
    caFiles: sets.map(({ clientCaFile }) => clientCaFile),
    keyFiles: [...sets.map(({ keyFile }) => keyFile), admin.tls?.keyFile ?? ""],
    adminTokenFile: admin.tokenFile,
    // Leases count the servers themselves.
    ...(leases === undefined && { serverCount }),
  };
}

/** The Kubernetes client is only loaded when a flag asks for it: it is heavier than all the rest. */
async function openApi(config: Pick<ServerProcessConfig, "kube">) {
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  return openKubeApi(config.kube);
}

type Api = Awaited<ReturnType<typeof openApi>>;

async function loadParts(config: ServerProcessConfig): Promise<ServerParts> {
  const { tokenAuth, claimsFile } = config.agents;
  const parts: { -readonly [Key in keyof ServerParts]: ServerParts[Key] } = {};
  if (tokenAuth !== undefined) {
    const { createTokenAuthenticator } = await import("../../tunnel/server/agents/token-auth.js");
    const { kubeTokenReviewer } = await import("../../cluster/membership/token-reviewer.js");
    const { qps, burst } = config.kube;
    // Reviews have a queue and a rate of their own: unknown agents must not delay the server's own requests.
    const reviewer = kubeTokenReviewer(await openApi({ ...config, kube: { ...config.kube, qps: -1 } }));
    parts.tokens = createTokenAuthenticator(tokenAuth, reviewer, { runtime: systemRuntime, qps, burst });
  }
  if (claimsFile !== "") {
    const { ClaimRulesFile } = await import("../../tunnel/server/agents/claims.js");
    parts.claims = (events) => new ClaimRulesFile(claimsFile, events);
  }
  return parts;
}

async function startLeases(config: ServerProcessConfig, api: Api | undefined, server: ProxyServer) {
  if (config.leases === undefined) return undefined;
  const { LeaseController } = await import("../../cluster/membership/lease-controller.js");
  const controller = new LeaseController({
    ...config.leases,
    api: api!,
    serverId: config.serverId,
    onRequest: (verb, status, seconds, reason) => {
      const channel = verb === "list" ? leaseListed : leaseDeleted;
      channel.publish({ source: server, status, reason, durationMs: seconds * 1000 });
      if (verb === "delete" && status === 200) leasesCulled.publish({ source: server, count: 1 });
    },
    onError: (message, reason) =>
      noteChannel.publish({ source: server, level: "warn", message, fields: causeFields(reason) }),
  });
  controller.start();
  return controller;
}

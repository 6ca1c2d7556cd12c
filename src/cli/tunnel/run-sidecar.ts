/** A sidecar as a process: everything around it that a person or a cluster sees, and its end. */

import { startHealth } from "../../base/health.js";
import { type Endpoint, type Route, sendText } from "../../base/http.js";
import { Logger, type LoggerOptions } from "../../base/log/log.js";
import { openServiceAddresses } from "../../cluster/kube/service-addresses.js";
import { logEvents } from "../../insight/observe/log-events.js";
import { ObservedSidecar } from "../../insight/observe/roles/sidecar.js";
import { listening } from "../../tunnel/events/channels.js";
import { readCertificateSet } from "../../tunnel/pki/certificate-set.js";
import type { SidecarConfig } from "../../tunnel/sidecar/config.js";
import { logSidecar } from "../../tunnel/sidecar/log.js";
import { sidecarMetrics } from "../../tunnel/sidecar/metrics.js";
import { Sidecar } from "../../tunnel/sidecar/sidecar.js";
import { type StartFacts, warnFromNowOn } from "../../tunnel/start-warnings.js";
import { type AdminEndpoint, announceWait, openAdmin, untilEnded } from "./role-process.js";

export interface SidecarProcessConfig extends SidecarConfig {
  /** Undefined: no health port. */
  readonly health: Endpoint | undefined;
  /** Undefined: no admin port. */
  readonly admin: AdminEndpoint | undefined;
  /** How long connections may go on after the first signal. */
  readonly drainTimeoutMs: number;
}

/** Resolves to the exit code when the process should end. `check` throws what else keeps it from starting. */
export async function runSidecar(
  config: SidecarProcessConfig,
  logging: LoggerOptions,
  check?: () => Promise<void>,
): Promise<number> {
  checkCertificates(config);
  await check?.();
  const sidecar = new Sidecar(config, openServiceAddresses);
  const logger = new Logger(logging);
  logEvents(logger, sidecar);
  logSidecar(logger, sidecar);
  const endWarnings = warnFromNowOn(logger, startFactsOf(config));
  const { registry } = sidecarMetrics(sidecar);
  const { readiness } = sidecar;
  const readyz: Route = (_request, response) =>
    readiness.ready ? sendText(response, 200, "ok") : sendText(response, 503, `${readiness.why}\n`);
  const health = config.health && (await startHealth(config.health, registry, readyz));
  const admin = config.admin && (await openAdmin(config.admin, registry, sidecar, new ObservedSidecar(sidecar)));
  if (admin !== undefined) listening.publish({ source: sidecar, what: "admin", address: admin.address });
  if (health !== undefined) listening.publish({ source: sidecar, what: "health", address: health.address });
  await sidecar.start();

  logger.info(0, "sidecar is up", { listeners: config.listeners.map(({ name }) => name) });
  return await untilEnded(logger, async (signal) => {
    announceWait(logger, "shutting down", { signal, connections: sidecar.limit.open }, config.drainTimeoutMs);
    const finished = await sidecar.drain(config.drainTimeoutMs);
    if (!finished) logger.warn("connections were still open at the end of the drain and were cut");
    endWarnings();
    await sidecar.stop();
    await Promise.all([health?.close(), admin?.close()]);
    logger.info(0, "sidecar has ended");
  });
}

/** The customer's trust bundle is not judged: it is often the system's, with authorities that have ended. */
function startFactsOf({ listeners, admin }: SidecarProcessConfig): StartFacts {
  const frontends = listeners.flatMap(({ routing }) => routing.frontends);
  const sets = frontends.flatMap((each) => ("tls" in each ? [each.tls] : []));
  return {
    certFiles: [...sets.flatMap(({ certFile = "", caFile = "" }) => [certFile, caFile]), admin?.tls?.certFile ?? ""],
    caFiles: sets.map(({ caFile = "" }) => caFile),
    keyFiles: [...sets.map(({ keyFile = "" }) => keyFile), admin?.tls?.keyFile ?? ""],
    adminTokenFile: admin?.tokenFile ?? "",
  };
}

/** They are read again for every connection; a mistake that is there from the start is reported at once. */
function checkCertificates({ listeners }: SidecarConfig): void {
  for (const frontend of listeners.flatMap(({ routing }) => routing.frontends)) {
    if ("tls" in frontend) readCertificateSet(frontend.tls);
  }
}

/** A sidecar as a process: everything around it that a person or a cluster sees, and its end. */

import { metricsRoute } from "../../base/health.js";
import { type Route, type RunningHttp, sendText, startHttp } from "../../base/http.js";
import { Logger } from "../../base/log/log.js";
import type { MetricsRegistry } from "../../base/metrics/registry.js";
import { nextSignal } from "../../base/signals.js";
import { openServiceAddresses } from "../../cluster/kube/service-addresses.js";
import { startAdmin } from "../../insight/observe/admin.js";
import { logEvents } from "../../insight/observe/log-events.js";
import { SidecarSubject } from "../../insight/observe/roles/sidecar.js";
import { listening } from "../../tunnel/events/channels.js";
import { CertificateFiles, readCertificateSet } from "../../tunnel/pki/certificate-set.js";
import type { AdminConfig, SidecarConfig } from "../../tunnel/sidecar/config.js";
import { logSidecar } from "../../tunnel/sidecar/log.js";
import { sidecarMetrics } from "../../tunnel/sidecar/metrics.js";
import type { Readiness } from "../../tunnel/sidecar/readiness.js";
import { Sidecar } from "../../tunnel/sidecar/sidecar.js";

/** Resolves to the exit code when the process should end. */
export async function runSidecar(
  config: SidecarConfig,
  logging: { readonly verbosity: number; readonly format: "text" | "json" },
  version: string,
): Promise<number> {
  checkCertificates(config);
  const sidecar = new Sidecar(config, openServiceAddresses);
  const logger = new Logger(logging);
  logEvents(logger, sidecar);
  logSidecar(logger, sidecar);
  const { registry } = sidecarMetrics(sidecar);
  const health = config.health && (await startHealth(config.health, sidecar.readiness, registry));
  const admin = config.admin && (await startSidecarAdmin(config.admin, sidecar, registry, version));
  if (admin !== undefined) listening.publish({ source: sidecar, what: "admin", address: admin.address });
  if (health !== undefined) listening.publish({ source: sidecar, what: "health", address: health.address });
  await sidecar.start();

  logger.info(0, "sidecar is up", { listeners: config.listeners.map(({ name }) => name) });
  const signal = await nextSignal();
  logger.info(0, "shutting down", { signal, drainTimeoutMs: config.drainTimeoutMs });
  const impatient = nextSignal().then(() => 1);
  const orderly = (async () => {
    const finished = await sidecar.drain(config.drainTimeoutMs);
    if (!finished) logger.warn("connections were still open at the end of the drain and were cut");
    sidecar.destroy();
    await Promise.all([health?.close(), admin?.close()]);
    return 0;
  })();
  const code = await Promise.race([orderly, impatient]);
  await logger.close();
  return code;
}

/** They are read again for every connection; a mistake that is there from the start is better told at once. */
function checkCertificates({ listeners }: SidecarConfig): void {
  for (const frontend of listeners.flatMap(({ routing }) => routing.frontends)) {
    if ("tls" in frontend) readCertificateSet(frontend.tls);
  }
}

function startSidecarAdmin(
  place: AdminConfig,
  sidecar: Sidecar,
  registry: MetricsRegistry,
  version: string,
): Promise<RunningHttp> {
  const subject = new SidecarSubject(sidecar);
  const { tokenFile, tls } = place;
  if (tokenFile !== "") subject.remember();
  return startAdmin(place, registry, {
    ...{ source: sidecar, version, subject },
    ...{ tokenFile, profiling: false },
    tls: tls && { certFile: tls.certFile, follow: (events) => new CertificateFiles(tls, events) },
  });
}

function startHealth(
  endpoint: NonNullable<SidecarConfig["health"]>,
  readiness: Readiness,
  registry: MetricsRegistry,
): Promise<RunningHttp> {
  const readyz: Route = (_request, response) => {
    if (readiness.ready) sendText(response, 200, "ok");
    else sendText(response, 503, `${readiness.why}\n`);
  };
  return startHttp("health", endpoint, {
    exact: new Map<string, Route>([
      ["/healthz", (_request, response) => sendText(response, 200, "ok")],
      ["/ready", readyz],
      ["/readyz", readyz],
      ["/metrics", metricsRoute(registry)],
    ]),
  });
}

/** The sidecar's /metrics. */

import { EventMetrics } from "../../base/metrics/process-metrics.js";
import type { Sample } from "../../base/metrics/registry.js";
import { fallbackChanged, probeEnded, requestDecided, routeTaken } from "./channels.js";
import type { Sidecar } from "./sidecar.js";

const PREFIX = "drawbridge_sidecar_";

/** In seconds; as the agent has them for its dials. */
const DIAL_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];

export function sidecarMetrics(sidecar: Sidecar): EventMetrics {
  const metrics = new EventMetrics(sidecar);
  const { registry } = metrics;
  const { limit, listeners, readiness } = sidecar;
  registry.gauge(`${PREFIX}client_connections`, "Connections of clients, whatever their state.", () => limit.open);
  registry.gauge(`${PREFIX}connections_open`, "Connections between a client and a target.", () =>
    listeners.map(({ config, handler }): Sample => [{ listener: config.name }, handler.connections.size]),
  );
  registry.counterRead(`${PREFIX}bytes_total`, "Bytes carried between clients and targets, by direction.", () =>
    listeners.flatMap(({ config: { name: listener }, handler: { traffic } }): Sample[] => [
      [{ listener, direction: "to_target" }, traffic.toTarget],
      [{ listener, direction: "from_target" }, traffic.fromTarget],
    ]),
  );

  const counter = (name: string, help: string, label: string) =>
    registry.counter(`${PREFIX}${name}`, help, ["listener", label]);
  const connections = counter(
    "connections_total",
    "Connections that clients asked for by SOCKS5, CONNECT or Upgrade, by outcome.",
    "outcome",
  );
  const requests = counter(
    "forwarded_requests_total",
    "Plain HTTP requests, and connections that never became one, by outcome.",
    "outcome",
  );
  const dials = registry.histogram(
    `${PREFIX}dial_seconds`,
    "Time from a client's request until the target was connected.",
    DIAL_BUCKETS,
  );
  metrics.on(requestDecided, ({ listener, kind, outcome, dialMs }) => {
    (kind === "forward" ? requests : connections).inc({ listener, outcome });
    if (dialMs !== undefined) dials.observe(dialMs / 1000, { listener });
  });

  registry.gauge(`${PREFIX}ready`, "1 when the last probe through the tunnel reached an agent.", () =>
    Number(readiness.ready),
  );
  const routes = counter(
    "routes_total",
    "Connections made, by the route they took: tunnel, customer-proxy, direct or fallback.",
    "route",
  );
  const probes = counter("probes_total", "Probes through the tunnel, by result.", "result");
  const fallbacks = new Map<string, boolean>();
  registry.gauge(`${PREFIX}fallback`, "1 while targets are dialled straight because the tunnel does not work.", () =>
    Array.from(fallbacks, ([listener, active]): Sample => [{ listener }, Number(active)]),
  );
  metrics.on(routeTaken, ({ listener, route }) => routes.inc({ listener, route }));
  metrics.on(probeEnded, ({ listener, error }) => {
    probes.inc({ listener, result: error === "" ? "answered" : "failed" });
  });
  metrics.on(fallbackChanged, ({ listener, active }) => fallbacks.set(listener, active));
  return metrics;
}

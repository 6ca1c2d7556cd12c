/** The sidecar's /metrics. */

import { DurationHistogram } from "../../base/metrics/histogram.js";
import { processMetrics } from "../../base/metrics/process-metrics.js";
import { countersRead, EventCounter, gaugeRead, gaugesRead, MetricsRegistry } from "../../base/metrics/registry.js";
import { fallbackChanged, probeEnded, requestDecided, routeTaken } from "./channels.js";
import type { Sidecar } from "./sidecar.js";

const PREFIX = "drawbridge_sidecar_";

/** In seconds; as the agent has them for its dials. */
const DIAL_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];

/** The answer ends the counting. */
export function sidecarMetrics(sidecar: Sidecar): { readonly registry: MetricsRegistry; close(): void } {
  const registry = new MetricsRegistry();
  readings(registry, sidecar);
  const endings = [...requestMetrics(registry, sidecar), ...routeMetrics(registry, sidecar)];
  processMetrics(registry);
  return {
    registry,
    close: () => {
      for (const end of endings.splice(0)) end();
    },
  };
}

function readings(registry: MetricsRegistry, sidecar: Sidecar): void {
  gaugeRead(registry, `${PREFIX}client_connections`, "Connections of clients, whatever their state.", () => {
    return sidecar.limit.open;
  });
  gaugesRead(registry, `${PREFIX}connections_open`, "Connections between a client and a target.", () =>
    sidecar.listeners.map(({ config, handler }) => [{ listener: config.name }, handler.connectionCount]),
  );
  countersRead(registry, `${PREFIX}bytes_total`, "Bytes carried between clients and targets, by direction.", () =>
    sidecar.listeners.flatMap(({ config: { name: listener }, handler: { traffic } }) => [
      [{ listener, direction: "to_target" }, traffic.toTarget] as const,
      [{ listener, direction: "from_target" }, traffic.fromTarget] as const,
    ]),
  );
  gaugeRead(registry, `${PREFIX}ready`, "1 when the last probe through the tunnel reached an agent.", () =>
    sidecar.readiness.ready ? 1 : 0,
  );
}

function requestMetrics(registry: MetricsRegistry, source: object): (() => void)[] {
  const labels = ["listener", "outcome"];
  const connections = new EventCounter(
    registry,
    `${PREFIX}connections_total`,
    "Connections that clients asked for by SOCKS5, CONNECT or Upgrade, by outcome.",
    labels,
  );
  const requests = new EventCounter(
    registry,
    `${PREFIX}forwarded_requests_total`,
    "Plain HTTP requests, and connections that never became one, by outcome.",
    labels,
  );
  const dials = new DurationHistogram(registry, {
    name: `${PREFIX}dial_seconds`,
    help: "Time from a client's request until the target was connected.",
    buckets: DIAL_BUCKETS,
  });
  return [
    requestDecided.subscribe(({ listener, kind, outcome, dialMs }) => {
      (kind === "forward" ? requests : connections).inc({ listener, outcome });
      if (dialMs !== undefined) dials.observeWith({ listener }, dialMs / 1000);
    }, source),
  ];
}

function routeMetrics(registry: MetricsRegistry, source: object): (() => void)[] {
  const routes = new EventCounter(
    registry,
    `${PREFIX}routes_total`,
    "Connections made, by the route they took: tunnel, customer-proxy, direct or fallback.",
    ["listener", "route"],
  );
  const probes = new EventCounter(registry, `${PREFIX}probes_total`, "Probes through the tunnel, by result.", [
    "listener",
    "result",
  ]);
  const fallbacks = new Map<string, number>();
  gaugesRead(
    registry,
    `${PREFIX}fallback`,
    "1 while targets are dialled straight because the tunnel does not work.",
    () => [...fallbacks].map(([listener, active]) => [{ listener }, active]),
  );
  return [
    routeTaken.subscribe(({ listener, route }) => routes.inc({ listener, route }), source),
    probeEnded.subscribe(({ listener, error }) => {
      probes.inc({ listener, result: error === "" ? "answered" : "failed" });
    }, source),
    fallbackChanged.subscribe(({ listener, active }) => void fallbacks.set(listener, active ? 1 : 0), source),
  ];
}

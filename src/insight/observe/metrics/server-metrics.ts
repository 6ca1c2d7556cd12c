/** The proxy-server's /metrics: upstream's families under their names, labels, buckets and texts, then our own. */

import { EventMetrics } from "../../../base/metrics/process-metrics.js";
import { histogramSamples, type Sample } from "../../../base/metrics/registry.js";
import * as channels from "../../../tunnel/events/channels.js";
import { LATENCY_BUCKETS, type PerServiceMethod, type ServerReadings } from "../../../tunnel/events/readings.js";
import { agentLoads } from "./agent-loads.js";
import { countLeaseRequests, segmentMetrics } from "./common-metrics.js";
import { pathMetrics } from "./path-metrics.js";

const PREFIX = "konnectivity_network_proxy_server_";

/** All in seconds, as upstream has them. */
const LIFETIME_BUCKETS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 14_400, 43_200, 86_400];
/** Prometheus' own default, which upstream's lease histograms use. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function serverMetrics(source: object, readings: ServerReadings): EventMetrics {
  const metrics = new EventMetrics(source);
  readingMetrics(metrics, readings);
  dialMetrics(metrics);
  leaseMetrics(metrics);
  refusalMetrics(metrics);
  segmentMetrics(metrics, "server", readings);
  agentLoads(metrics, readings);
  if (readings.paths !== undefined) pathMetrics(metrics, readings.paths);
  return metrics;
}

function readingMetrics({ registry }: EventMetrics, readings: ServerReadings): void {
  const gauge = (name: string, help: string, read: () => number | Iterable<Sample>): void =>
    registry.gauge(PREFIX + name, help, read);
  registry.register({
    type: "histogram",
    name: `${PREFIX}frontend_write_duration_seconds`,
    help: "Latency of write to the frontend in seconds",
    samples: () => histogramSamples({}, readings.frontendWrites),
  });
  gauge("grpc_connections", "Number of current grpc connections, partitioned by service method.", () =>
    byServiceMethod(readings.grpcConnections()),
  );
  gauge("http_connections", "Number of current HTTP CONNECT connections", readings.httpConnections);
  gauge(
    "ready_backend_connections",
    "Number of konnectivity agent connected to the proxy server. DEPRECATED, please use ready_backends",
    readings.readyBackendConnections,
  );
  gauge("ready_backends", "Number of konnectivity agent connected to the proxy server", () =>
    Array.from(readings.readyBackends(), ([strategy, count]): Sample => [{ proxy_strategy: strategy }, count]),
  );
  gauge("pending_backend_dials", "Current number of pending backend dial requests", readings.pendingDials);
  gauge(
    "established_connections",
    "Current number of established end-to-end connections (post-dial).",
    readings.establishedTunnels,
  );
  gauge(
    "full_receive_channels",
    "Number of current connections blocked by a full receive channel, partitioned by service method.",
    () => byServiceMethod(readings.fullReceiveChannels()),
  );
}

function dialMetrics(metrics: EventMetrics): void {
  const { registry } = metrics;
  const durations = registry.histogram(
    `${PREFIX}dial_duration_seconds`,
    "Latency of dial to the remote endpoint in seconds",
    LATENCY_BUCKETS,
  );
  const lifetimes = registry.histogram(
    `${PREFIX}connection_duration_seconds`,
    "Duration in seconds a proxied end-to-end connection was established (post-dial) before being closed.",
    LIFETIME_BUCKETS,
  );
  const failures = registry.counter(
    `${PREFIX}dial_failure_count`,
    "Number of dial failures observed. Multiple failures can occur for a single dial request.",
    ["reason"],
  );
  const dials = registry.counter(
    "drawbridge_server_dials_total",
    "Dials that ended, by the frontend they came from and how they ended.",
    ["frontend", "outcome"],
  );
  metrics.on(channels.serverDialEnded, ({ frontend, outcome, durationMs }) => {
    dials.inc({ frontend, outcome });
    if (outcome === "established") durations.observe(durationMs / 1000);
    // Upstream counts a CONNECT without an agent nowhere; ours shows in drawbridge_server_dials_total.
    else if (!(outcome === "no_agent" && frontend === "http-connect")) failures.inc({ reason: outcome });
  });
  metrics.on(channels.serverTunnelClosed, ({ durationMs }) => lifetimes.observe(durationMs / 1000));
}

function leaseMetrics(metrics: EventMetrics): void {
  const { registry } = metrics;
  const label = "http_status_code";
  const culled = registry.counter(
    `${PREFIX}culled_leases_count`,
    "Count of expired leases that the lease garbage collection controller has culled.",
  );
  metrics.on(channels.leasesCulled, ({ count }) => culled.inc({}, count));
  // The texts are upstream's, mistakes included.
  const requests = [
    [channels.leaseListed, "lease_list", "deletion", "list"],
    [channels.leaseDeleted, "lease_delete", "delection", "deletion"],
  ] as const;
  for (const [channel, name, counted, timed] of requests) {
    const total = registry.counter(
      `${PREFIX}${name}_total`,
      `Count of lease ${counted} calls by the garbage collection controller. Labeled by HTTP status code and reason.`,
      [label, "reason"],
    );
    const latency = registry.histogram(
      `${PREFIX}${name}_latency_seconds`,
      `Latency of lease ${timed} calls by the garbage collection controller in seconds.`,
      DEFAULT_BUCKETS,
    );
    metrics.on(channel, countLeaseRequests(label, total, latency));
  }
}

function refusalMetrics(metrics: EventMetrics): void {
  const { registry } = metrics;
  const refusals = registry.counter(
    "drawbridge_server_refusals_total",
    "Dials refused with a reference id under which the admin API keeps the explanation.",
  );
  const rejected = registry.counter("drawbridge_server_agents_rejected_total", "Agents whose connection was rejected.");
  const reloads = registry.counter(
    "drawbridge_server_claim_rules_reloads_total",
    "Claim rules found changed on disk, by result (loaded, or refused and the old ones kept).",
    ["result"],
  );
  metrics.on(channels.claimRulesReloaded, () => reloads.inc({ result: "loaded" }));
  metrics.on(channels.claimRulesRefused, () => reloads.inc({ result: "refused" }));
  metrics.on(channels.serverRefused, () => refusals.inc());
  metrics.on(channels.serverAgentRejected, () => rejected.inc());
}

function byServiceMethod(counts: PerServiceMethod): Sample[] {
  return Object.entries(counts).map(([method, count]): Sample => [{ service_method: method }, count]);
}

/** The proxy-server's /metrics: upstream's families under their names, labels, buckets and texts, then our own. */

import { DurationHistogram, histogramSamples } from "../../../base/metrics/histogram.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { EventCounter, gaugeRead, gaugesRead, MetricsRegistry, type Sample } from "../../../base/metrics/registry.js";
import {
  claimRulesRefused,
  claimRulesReloaded,
  leaseDeleted,
  leaseListed,
  leasesCulled,
  serverAgentRejected,
  serverDialEnded,
  serverRefused,
  serverTunnelClosed,
} from "../../../tunnel/events/channels.js";
import { LATENCY_BUCKETS, type PerServiceMethod, type ServerReadings } from "../../../tunnel/events/readings.js";
import { agentLoads } from "./agent-loads.js";
import { leaseCalls } from "./lease-calls.js";
import { pathMetrics } from "./path-metrics.js";
import { segmentMetrics } from "./segment-metrics.js";

const PREFIX = "konnectivity_network_proxy_server_";

/** All in seconds, as upstream has them. */
const LIFETIME_BUCKETS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 14_400, 43_200, 86_400];
/** Prometheus' own default, which upstream's lease histograms use. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class ServerMetrics {
  readonly registry = new MetricsRegistry();
  readonly #endings: (() => void)[];

  constructor(source: object, readings: ServerReadings) {
    this.registry.register({
      type: "histogram",
      name: `${PREFIX}frontend_write_duration_seconds`,
      help: "Latency of write to the frontend in seconds",
      samples: () => histogramSamples({}, readings.frontendWrites),
    });
    this.#gauges(readings);
    this.#endings = [
      ...this.#dials(source),
      ...this.#leases(source),
      ...this.#refusals(source),
      ...segmentMetrics(this.registry, "server", source, readings),
      ...(readings.paths === undefined ? [] : pathMetrics(this.registry, source, readings.paths)),
    ];
    processMetrics(this.registry);
  }

  close(): void {
    for (const end of this.#endings.splice(0)) end();
  }

  #durations(name: string, help: string, buckets: readonly number[]): DurationHistogram {
    return new DurationHistogram(this.registry, { name: PREFIX + name, help, buckets });
  }

  #gauges(readings: ServerReadings): void {
    const gauge = (name: string, help: string, read: () => number) =>
      gaugeRead(this.registry, PREFIX + name, help, read);
    const gauges = (name: string, help: string, read: () => Iterable<Sample>) =>
      gaugesRead(this.registry, PREFIX + name, help, read);

    gauges("grpc_connections", "Number of current grpc connections, partitioned by service method.", () =>
      byServiceMethod(readings.grpcConnections()),
    );
    gauge("http_connections", "Number of current HTTP CONNECT connections", () => readings.httpConnections());
    gauge(
      "ready_backend_connections",
      "Number of konnectivity agent connected to the proxy server. DEPRECATED, please use ready_backends",
      () => readings.readyBackendConnections(),
    );
    gauges("ready_backends", "Number of konnectivity agent connected to the proxy server", function* () {
      for (const [strategy, count] of readings.readyBackends()) yield [{ proxy_strategy: strategy }, count];
    });
    gauge("pending_backend_dials", "Current number of pending backend dial requests", () => readings.pendingDials());
    gauge("established_connections", "Current number of established end-to-end connections (post-dial).", () =>
      readings.establishedTunnels(),
    );
    gauges(
      "full_receive_channels",
      "Number of current connections blocked by a full receive channel, partitioned by service method.",
      () => byServiceMethod(readings.fullReceiveChannels()),
    );
    agentLoads(this.registry, readings);
  }

  #dials(source: object): (() => void)[] {
    const durations = this.#durations(
      "dial_duration_seconds",
      "Latency of dial to the remote endpoint in seconds",
      LATENCY_BUCKETS,
    );
    const lifetimes = this.#durations(
      "connection_duration_seconds",
      "Duration in seconds a proxied end-to-end connection was established (post-dial) before being closed.",
      LIFETIME_BUCKETS,
    );
    const failures = new EventCounter(
      this.registry,
      `${PREFIX}dial_failure_count`,
      "Number of dial failures observed. Multiple failures can occur for a single dial request.",
      ["reason"],
    );
    const dials = new EventCounter(
      this.registry,
      "drawbridge_server_dials_total",
      "Dials that ended, by the frontend they came from and how they ended.",
      ["frontend", "outcome"],
    );
    return [
      serverDialEnded.subscribe(({ frontend, outcome, durationMs }) => {
        dials.inc({ frontend, outcome });
        if (outcome === "established") durations.observe(durationMs / 1000);
        // Upstream counts a CONNECT without an agent nowhere; ours shows in drawbridge_server_dials_total.
        else if (!(outcome === "no_agent" && frontend === "http-connect")) failures.inc({ reason: outcome });
      }, source),
      serverTunnelClosed.subscribe(({ durationMs }) => lifetimes.observe(durationMs / 1000), source),
    ];
  }

  #leases(source: object): (() => void)[] {
    const culled = new EventCounter(
      this.registry,
      `${PREFIX}culled_leases_count`,
      "Count of expired leases that the lease garbage collection controller has culled.",
    );
    const calls = (name: string, totalHelp: string, latencyHelp: string) =>
      leaseCalls({
        total: new EventCounter(this.registry, `${PREFIX}${name}_total`, totalHelp, ["http_status_code", "reason"]),
        latency: this.#durations(`${name}_latency_seconds`, latencyHelp, DEFAULT_BUCKETS),
        statusLabel: "http_status_code",
      });
    return [
      leasesCulled.subscribe(({ count }) => culled.inc({}, count), source),
      leaseListed.subscribe(
        calls(
          "lease_list",
          "Count of lease deletion calls by the garbage collection controller. Labeled by HTTP status code and reason.",
          "Latency of lease list calls by the garbage collection controller in seconds.",
        ),
        source,
      ),
      leaseDeleted.subscribe(
        calls(
          "lease_delete",
          "Count of lease delection calls by the garbage collection controller. Labeled by HTTP status code and reason.",
          "Latency of lease deletion calls by the garbage collection controller in seconds.",
        ),
        source,
      ),
    ];
  }

  #refusals(source: object): (() => void)[] {
    const refusals = new EventCounter(
      this.registry,
      "drawbridge_server_refusals_total",
      "Dials refused with a reference id under which the admin API keeps the explanation.",
    );
    const rejected = new EventCounter(
      this.registry,
      "drawbridge_server_agents_rejected_total",
      "Agents that were not let in.",
    );
    const reloads = new EventCounter(
      this.registry,
      "drawbridge_server_claim_rules_reloads_total",
      "Claim rules found changed on disk, by result (loaded, or refused and the old ones kept).",
      ["result"],
    );
    return [
      claimRulesReloaded.subscribe(() => reloads.inc({ result: "loaded" }), source),
      claimRulesRefused.subscribe(() => reloads.inc({ result: "refused" }), source),
      serverRefused.subscribe(() => refusals.inc(), source),
      serverAgentRejected.subscribe(() => rejected.inc(), source),
    ];
  }
}

function* byServiceMethod(counts: PerServiceMethod): Iterable<Sample> {
  for (const method of ["Proxy", "Connect"] as const) {
    const count = counts[method];
    if (count !== undefined) yield [{ service_method: method }, count];
  }
}

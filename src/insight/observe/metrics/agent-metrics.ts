/** The proxy-agent's /metrics: upstream's families under their names, labels, buckets and texts, then our own. */

import { DurationHistogram } from "../../../base/metrics/histogram.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { EventCounter, gaugeRead, MetricsRegistry } from "../../../base/metrics/registry.js";
import { agentDialEnded, leaseListed, leaseWatched, streamError } from "../../../tunnel/events/channels.js";
import type { AgentReadings } from "../../../tunnel/events/readings.js";
import { leaseCalls } from "./lease-calls.js";
import { segmentMetrics } from "./segment-metrics.js";

const PREFIX = "konnectivity_network_proxy_agent_";

/** In seconds, as upstream has them. */
const LATENCY_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];

export class AgentMetrics {
  readonly registry = new MetricsRegistry();
  readonly #endings: (() => void)[];

  constructor(source: object, readings: AgentReadings) {
    this.#gauges(readings);
    this.#endings = [
      ...this.#dials(source),
      ...this.#serverFailures(source),
      ...this.#leases(source),
      ...segmentMetrics(this.registry, "agent", source, readings),
    ];
    processMetrics(this.registry);
  }

  close(): void {
    for (const end of this.#endings.splice(0)) end();
  }

  #gauges(readings: AgentReadings): void {
    const gauge = (name: string, help: string, read: () => number) =>
      gaugeRead(this.registry, PREFIX + name, help, read);
    gauge("open_server_connections", "Current number of open server connections.", () =>
      readings.openServerConnections(),
    );
    gauge("known_server_count", "Current number of servers agent is trying to connect to.", () =>
      readings.knownServerCount(),
    );
    gauge("open_endpoint_connections", "Current number of open endpoint connections.", () =>
      readings.openEndpointConnections(),
    );
  }

  #dials(source: object): (() => void)[] {
    const durations = new DurationHistogram(this.registry, {
      name: `${PREFIX}dial_duration_seconds`,
      help: "Latency of dial to the remote endpoint in seconds",
      buckets: LATENCY_BUCKETS,
    });
    const failures = new EventCounter(
      this.registry,
      `${PREFIX}endpoint_dial_failure_total`,
      "Number of failures dialing the remote endpoint, by reason (example: timeout).",
      ["reason"],
    );
    const denied = new EventCounter(
      this.registry,
      "drawbridge_agent_dials_denied_total",
      "Dials that the destination policy refused; they never reached the network.",
    );
    const cancelled = new EventCounter(
      this.registry,
      "drawbridge_agent_dials_cancelled_total",
      "Dials given up because the caller no longer wanted them.",
    );
    return [
      agentDialEnded.subscribe(({ outcome, durationMs }) => {
        if (outcome === "established") durations.observe(durationMs / 1000);
        else if (outcome === "policy") denied.inc();
        else if (outcome === "cancelled") cancelled.inc();
        else failures.inc({ reason: outcome });
      }, source),
    ];
  }

  #serverFailures(source: object): (() => void)[] {
    const failures = new EventCounter(
      this.registry,
      `${PREFIX}server_connection_failure_count`,
      "Count of failures to send to or receive from the proxy server, labeled by the direction (from_server or to_server). DEPRECATED, please use stream_events_error_total",
      ["direction"],
    );
    return [
      streamError.subscribe(({ segment }) => {
        failures.inc({ direction: segment === "from_agent" ? "to_server" : "from_server" });
      }, source),
    ];
  }

  #leases(source: object): (() => void)[] {
    const statusLabel = "http_response_code";
    const calls = (name: string, what: string) =>
      new EventCounter(
        this.registry,
        PREFIX + name,
        `Count of server lease ${what} calls made by the agent to the k8s apiserver, labeled by HTTP response code and reason`,
        [statusLabel, "reason"],
      );
    const latency = new DurationHistogram(this.registry, {
      name: `${PREFIX}lease_list_latency_seconds`,
      help: "Latency of server lease listing in seconds",
      buckets: LATENCY_BUCKETS,
    });
    return [
      leaseListed.subscribe(leaseCalls({ total: calls("lease_lists_total", "list"), latency, statusLabel }), source),
      // Upstream adds watches to lease_lists_total by mistake; here they are under the name it gave them.
      leaseWatched.subscribe(leaseCalls({ total: calls("lease_watches_total", "watch"), statusLabel }), source),
    ];
  }
}

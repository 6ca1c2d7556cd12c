/** The proxy-agent's /metrics: upstream's families under their names, labels, buckets and texts, then our own. */

import { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { ProxyAgent } from "../../../tunnel/agent/agent.js";
import { agentDialEnded, leaseListed, leaseWatched, streamError } from "../../../tunnel/events/channels.js";
import { countLeaseRequests, segmentMetrics } from "./common-metrics.js";

const PREFIX = "konnectivity_network_proxy_agent_";

/** In seconds, as upstream has them. */
const LATENCY_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];

export function agentMetrics(source: object, readings: ReturnType<ProxyAgent["readings"]>): EventMetrics {
  const metrics = new EventMetrics(source);
  const { registry } = metrics;
  const gauge = (name: string, help: string, read: () => number): void => registry.gauge(PREFIX + name, help, read);
  gauge("open_server_connections", "Current number of open server connections.", readings.openServerConnections);
  gauge("known_server_count", "Current number of servers agent is trying to connect to.", readings.knownServerCount);
  gauge("open_endpoint_connections", "Current number of open endpoint connections.", readings.openEndpointConnections);
  dialMetrics(metrics);
  const failures = registry.counter(
    `${PREFIX}server_connection_failure_count`,
    "Count of failures to send to or receive from the proxy server, labeled by the direction (from_server or to_server). DEPRECATED, please use stream_events_error_total",
    ["direction"],
  );
  metrics.on(streamError, ({ segment }) => {
    failures.inc({ direction: segment === "from_agent" ? "to_server" : "from_server" });
  });
  leaseMetrics(metrics);
  segmentMetrics(metrics, "agent", readings);
  return metrics;
}

function dialMetrics(metrics: EventMetrics): void {
  const { registry } = metrics;
  const durations = registry.histogram(
    `${PREFIX}dial_duration_seconds`,
    "Latency of dial to the remote endpoint in seconds",
    LATENCY_BUCKETS,
  );
  const failures = registry.counter(
    `${PREFIX}endpoint_dial_failure_total`,
    "Number of failures dialing the remote endpoint, by reason (example: timeout).",
    ["reason"],
  );
  const denied = registry.counter(
    "drawbridge_agent_dials_denied_total",
    "Dials that the destination policy refused; they never reached the network.",
  );
  const cancelled = registry.counter(
    "drawbridge_agent_dials_cancelled_total",
    "Dials given up because the caller no longer wanted them.",
  );
  metrics.on(agentDialEnded, ({ outcome, durationMs }) => {
    if (outcome === "established") durations.observe(durationMs / 1000);
    else if (outcome === "policy") denied.inc();
    else if (outcome === "cancelled") cancelled.inc();
    // Upstream has no other word.
    else failures.inc({ reason: outcome === "timeout" ? outcome : "unknown" });
  });
}

function leaseMetrics(metrics: EventMetrics): void {
  const { registry } = metrics;
  const label = "http_response_code";
  const calls = (name: string, what: string) =>
    registry.counter(
      PREFIX + name,
      `Count of server lease ${what} calls made by the agent to the k8s apiserver, labeled by HTTP response code and reason`,
      [label, "reason"],
    );
  const latency = registry.histogram(
    `${PREFIX}lease_list_latency_seconds`,
    "Latency of server lease listing in seconds",
    LATENCY_BUCKETS,
  );
  metrics.on(leaseListed, countLeaseRequests(label, calls("lease_lists_total", "list"), latency));
  // Upstream adds watches to lease_lists_total by mistake; here they are under the name it gave them.
  metrics.on(leaseWatched, countLeaseRequests(label, calls("lease_watches_total", "watch")));
}

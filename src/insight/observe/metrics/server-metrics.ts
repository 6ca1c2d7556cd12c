/** The proxy-server's /metrics: upstream's families under their names, labels, buckets and texts, then our own. */

import { EventMetrics } from "../../../base/metrics/process-metrics.js";
import { histogramSamples, type Sample } from "../../../base/metrics/registry.js";
import * as channels from "../../../tunnel/events/channels.js";
import type { ProxyServer } from "../../../tunnel/server/server.js";
import { STRATEGY_AGENTS_METRIC, strategySamples } from "../../../tunnel/server/strategy-counts.js";
import { LATENCY_BUCKETS } from "../../../tunnel/server/switchboard.js";
import { countLeaseRequests, countReloads, segmentMetrics } from "./common-metrics.js";

const PREFIX = "konnectivity_network_proxy_server_";
const OURS = "drawbridge_server_";

/** All in seconds; upstream's as upstream has them. */
const LIFETIME_BUCKETS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 14_400, 43_200, 86_400];
/** Prometheus' own default, which upstream's lease histograms use. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const ROUND_TRIP_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

export type ServerReadings = ReturnType<ProxyServer["readings"]>;

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
  registry.gauge(
    STRATEGY_AGENTS_METRIC,
    "Agents that each strategy can choose from; ready_backends counts what they claim.",
    () => strategySamples(readings.strategyCounts()),
  );
  gauge("pending_backend_dials", "Current number of pending backend dial requests", readings.pendingDials);
  registry.gauge(
    `${OURS}waiting_dials`,
    "Pending dials that wait for an agent to connect (--wait-for-agent).",
    readings.waitingDials,
  );
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
    `${OURS}dials_total`,
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
    `${OURS}refusals_total`,
    "Dials refused with a reference id under which the admin API keeps the explanation.",
  );
  const rejected = registry.counter(
    `${OURS}agents_rejected_total`,
    "Connections that were rejected at the agents' port.",
  );
  metrics.on(channels.serverRefused, () => refusals.inc());
  const peers = registry.counter(
    `${OURS}peers_refused_total`,
    "Connections refused at TLS or for what the peer said of itself, by listener and error code.",
    ["listener", "code"],
  );
  metrics.on(channels.peerRefused, ({ listener, code }) => {
    peers.inc({ listener, code });
    if (listener === "agents") rejected.inc();
  });
  countReloads(metrics, `${OURS}claim_rules`, "Claim rules", [channels.claimRulesReloaded, channels.claimRulesRefused]);
}

function byServiceMethod(counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([method, count]): Sample => [{ service_method: method }, count]);
}

/** A cluster of thousands of agents must not become thousands of series on every scrape. */
const MAX_AGENTS = 500;
/** Agent ids are whatever an agent says. */
const MAX_ID_LENGTH = 128;
/** Not a value an agent is likely to choose. */
const OTHERS = "(others)";

/** Tunnels and queues per agent, with a bound on how many agents get a series of their own. */
function agentLoads({ registry }: EventMetrics, { agents }: ServerReadings): void {
  const others = `agents beyond the first ${MAX_AGENTS} are added up as ${OTHERS}.`;
  const gauge = (name: string, help: string, value: "tunnels" | "queuedBytes"): void =>
    registry.gauge(`${OURS}agent_${name}`, `${help}; ${others}`, () => addedUp(agents(), value));
  gauge("tunnels", "Open tunnels per agent", "tunnels");
  gauge("queued_bytes", "Bytes waiting for slow readers per agent", "queuedBytes");
}

/** First come, first shown: series stay the same from scrape to scrape while agents stay. */
function addedUp(agents: ReturnType<ServerReadings["agents"]>, value: "tunnels" | "queuedBytes"): Sample[] {
  const sums = new Map<string, number>();
  for (const agent of agents) {
    const id = agent.agentId.slice(0, MAX_ID_LENGTH);
    const key = sums.has(id) || sums.size < MAX_AGENTS ? id : OTHERS;
    sums.set(key, (sums.get(key) ?? 0) + agent[value]);
  }
  return Array.from(sums, ([agentId, sum]): Sample => [{ agent_id: agentId }, sum]);
}

/** What the watchdog finds out: its probes are in none of upstream's families. */
function pathMetrics(metrics: EventMetrics, paths: () => Iterable<string>): void {
  const { registry } = metrics;
  registry.gauge(
    `${OURS}agent_paths`,
    "Agents by what the watchdog last saw of their path; unknown are those without an echo, or not asked yet.",
    () => {
      const states = [...paths()];
      return ["ok", "failing", "unknown"].map((state): Sample => {
        return [{ state }, states.filter((each) => each === state).length];
      });
    },
  );
  const checks = registry.counter(`${OURS}path_checks_total`, "Questions to agents' echoes, by result.", ["result"]);
  for (const result of ["ok", "failed"]) checks.inc({ result }, 0);
  const roundTrips = registry.histogram(
    `${OURS}path_round_trip_seconds`,
    "From the dial of an agent's echo to the last byte back.",
    ROUND_TRIP_BUCKETS,
  );
  const recycled = registry.counter(
    `${OURS}links_recycled_total`,
    "Links ended by the watchdog because nothing moved on them any more.",
  );
  metrics.on(channels.serverPathChecked, ({ roundTripMs }) => {
    checks.inc({ result: roundTripMs === undefined ? "failed" : "ok" });
    if (roundTripMs !== undefined) roundTrips.observe(roundTripMs / 1000);
  });
  metrics.on(channels.serverLinkRecycled, () => recycled.inc());
}

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import { DurationCounts } from "../../../base/metrics/registry.js";
import type { Tunnel } from "../../../tunnel/connection/tunnel.js";
import * as channels from "../../../tunnel/events/channels.js";
import { SegmentCounters } from "../../../tunnel/link/packet-meter.js";
import type { AgentLink } from "../../../tunnel/server/agents/agent-link.js";
import { strategyCountsIn } from "../../../tunnel/server/strategy-counts.js";
import { LATENCY_BUCKETS } from "../../../tunnel/server/switchboard.js";
import { PACKET_NAMES, type PacketName } from "../../../tunnel/wire/packet.js";
import { type ServerReadings, serverMetrics } from "./server-metrics.js";

const K = "konnectivity_network_proxy_server_";
const source = { name: "the server under test" };
let loads: { agentId: string; tunnels: number; queuedBytes: number }[] = [];
let toAgent = new SegmentCounters();
let metrics: EventMetrics;
const frontendWrites = new DurationCounts(LATENCY_BUCKETS);

const readings: ServerReadings = {
  grpcConnections: () => ({ Connect: 2 }),
  httpConnections: () => 3,
  pendingDials: () => 1,
  waitingDials: () => 1,
  establishedTunnels: () => 4,
  readyBackends: () => [
    ["destHost", 5],
    ["default", 2],
  ],
  readyBackendConnections: () => 2,
  strategyCounts: () => [
    { name: "destHost", agents: 1 },
    { name: "default", agents: 2 },
  ],
  fullReceiveChannels: () => ({ Connect: 0 }),
  segments: () => [
    ["to_agent", toAgent],
    ["from_agent", new SegmentCounters()],
  ],
  frontendWrites,
  agents: () => loads,
  queuedBytes: () => 4096,
  paths: undefined,
};

/** The lines of the families whose name begins so, samples only. */
async function samples(name: string): Promise<string[]> {
  const text = metrics.registry.text();
  return text.split("\n").filter((line) => line.startsWith(name));
}

function count(counters: SegmentCounters, packet: PacketName, times: number): void {
  counters.packets[PACKET_NAMES.indexOf(packet)]! += times;
}

beforeEach(() => {
  loads = [];
  toAgent = new SegmentCounters();
  metrics = serverMetrics(source, readings);
});
afterEach(() => metrics.end());

describe("serverMetrics", () => {
  test("has the number of agents of each strategy, and whoever reads the page finds them again", async () => {
    expect(strategyCountsIn(metrics.registry.text())).toEqual(readings.strategyCounts());
    expect(strategyCountsIn(`${K}ready_backends{proxy_strategy="destHost"} 5\n`)).toBeUndefined();
  });

  test("reads gauges when it is scraped", async () => {
    expect(await samples(K)).toEqual([
      `${K}culled_leases_count 0`,
      `${K}established_connections 4`,
      `${K}full_receive_channels{service_method="Connect"} 0`,
      `${K}grpc_connections{service_method="Connect"} 2`,
      `${K}http_connections 3`,
      `${K}pending_backend_dials 1`,
      `${K}ready_backend_connections 2`,
      `${K}ready_backends{proxy_strategy="destHost"} 5`,
      `${K}ready_backends{proxy_strategy="default"} 2`,
    ]);
  });

  test("counts packets by type, ours only once they were sent, and never twice", async () => {
    count(toAgent, "DIAL_REQ", 2);
    count(toAgent, "DATA", 7);
    toAgent.payloadBytes = 1234;
    const expected = [
      `${K}stream_packets_total{segment="to_agent",packet_type="DIAL_REQ"} 2`,
      `${K}stream_packets_total{segment="to_agent",packet_type="DATA"} 7`,
    ];
    expect(await samples(`${K}stream_packets_total`)).toEqual(expected);
    expect(await samples(`${K}stream_packets_total`)).toEqual(expected);
    count(toAgent, "CREDIT", 1);
    expect(await samples(`${K}stream_packets_total`)).toEqual([
      ...expected,
      `${K}stream_packets_total{segment="to_agent",packet_type="CREDIT"} 1`,
    ]);
    expect(await samples("drawbridge_server_segment_bytes_total")).toEqual([
      'drawbridge_server_segment_bytes_total{segment="to_agent"} 1234',
      'drawbridge_server_segment_bytes_total{segment="from_agent"} 0',
    ]);
  });

  test("observes the duration of successful dials and the reason of failed ones", async () => {
    const dial = { source, address: "10.0.0.1:443", dialId: 7n, durationMs: 20 } as const;
    const ended = channels.serverDialEnded;
    ended.publish({ ...dial, frontend: "grpc", outcome: "established", error: "" });
    ended.publish({ ...dial, frontend: "grpc", outcome: "error_response", error: "connection refused" });
    ended.publish({ ...dial, frontend: "grpc", outcome: "no_agent", error: "No agent available" });
    // Upstream does not count this one.
    ended.publish({ ...dial, frontend: "http-connect", outcome: "no_agent", error: "No agent available" });
    expect(await samples(`${K}dial_duration_seconds`)).toEqual([
      ...["1e-06", "1e-05", "0.0001", "0.005"].map((le) => `${K}dial_duration_seconds_bucket{le="${le}"} 0`),
      ...["0.025", "0.1", "0.5", "2.5", "12.5", "+Inf"].map((le) => `${K}dial_duration_seconds_bucket{le="${le}"} 1`),
      `${K}dial_duration_seconds_sum 0.02`,
      `${K}dial_duration_seconds_count 1`,
    ]);
    expect(await samples(`${K}dial_failure_count`)).toEqual([
      `${K}dial_failure_count{reason="error_response"} 1`,
      `${K}dial_failure_count{reason="no_agent"} 1`,
    ]);
    expect(await samples("drawbridge_server_dials_total")).toContain(
      'drawbridge_server_dials_total{frontend="http-connect",outcome="no_agent"} 1',
    );
  });

  test("observes how long tunnels lived and how long writes to frontends took", async () => {
    channels.serverTunnelClosed.publish({
      source,
      link: {} as AgentLink,
      tunnel: {} as Tunnel,
      frontend: "grpc",
      address: "10.0.0.1:443",
      agentId: "a",
      connectId: 1,
      durationMs: 61_000,
      bytesToAgent: 1,
      bytesToClient: 2,
      reason: "client closed",
    });
    frontendWrites.observe(0.00005);
    expect(await samples(`${K}connection_duration_seconds_bucket`)).toContain(
      `${K}connection_duration_seconds_bucket{le="300"} 1`,
    );
    expect(await samples(`${K}connection_duration_seconds_bucket{le="60"}`)).toEqual([
      `${K}connection_duration_seconds_bucket{le="60"} 0`,
    ]);
    expect(await samples(`${K}frontend_write_duration_seconds_bucket{le="0.0001"}`)).toEqual([
      `${K}frontend_write_duration_seconds_bucket{le="0.0001"} 1`,
    ]);
  });

  test("counts stream errors, cuts, refusals, rejected agents and reloads of certificates and claim rules", async () => {
    channels.streamError.publish({ source, segment: "from_agent", code: "Unavailable", packetType: "Unknown" });
    channels.tunnelCut.publish({
      source,
      code: "DB_SLOW_READER",
      address: "10.0.0.1:443",
      connectId: 1,
      queuedBytes: 1,
      reason: "slow",
    });
    channels.serverRefused.publish({ source, referenceId: "r1", address: "10.0.0.1:443", explanation: {} });
    const peer = {
      source,
      remote: "127.0.0.1:5",
      code: "DB_PEER_NO_CERT",
      reason: "it showed no certificate",
    } as const;
    channels.peerRefused.publish({ ...peer, listener: "agents" });
    channels.peerRefused.publish({ ...peer, listener: "grpc frontend" });
    channels.certificatesReloaded.publish({ source, listener: "agents", files: ["a.pem"] });
    channels.certificatesRefused.publish({ source, listener: "agents", files: ["a.pem"], error: "not PEM" });
    channels.claimRulesReloaded.publish({ source, file: "rules.yaml", dismissed: 0 });
    channels.claimRulesRefused.publish({ source, file: "rules.yaml", error: "not YAML" });
    expect(await samples(`${K}stream_errors_total`)).toEqual([
      `${K}stream_errors_total{segment="from_agent",code="Unavailable",packet_type="Unknown"} 1`,
    ]);
    expect(await samples("drawbridge_server_")).toEqual([
      "drawbridge_server_agents_rejected_total 1",
      'drawbridge_server_certificate_reloads_total{result="loaded"} 1',
      'drawbridge_server_certificate_reloads_total{result="refused"} 1',
      'drawbridge_server_claim_rules_reloads_total{result="loaded"} 1',
      'drawbridge_server_claim_rules_reloads_total{result="refused"} 1',
      'drawbridge_server_peers_refused_total{listener="agents",code="DB_PEER_NO_CERT"} 1',
      'drawbridge_server_peers_refused_total{listener="grpc frontend",code="DB_PEER_NO_CERT"} 1',
      "drawbridge_server_queued_bytes 4096",
      "drawbridge_server_refusals_total 1",
      'drawbridge_server_segment_bytes_total{segment="to_agent"} 0',
      'drawbridge_server_segment_bytes_total{segment="from_agent"} 0',
      'drawbridge_server_strategy_agents{proxy_strategy="destHost"} 1',
      'drawbridge_server_strategy_agents{proxy_strategy="default"} 2',
      "drawbridge_server_tunnels_cut_total 1",
      "drawbridge_server_waiting_dials 1",
    ]);
  });

  test("counts lease requests that got an answer", async () => {
    channels.leaseListed.publish({ source, status: 200, reason: "", durationMs: 30 });
    channels.leaseListed.publish({ source, status: 0, reason: "connection refused", durationMs: 30 });
    channels.leaseDeleted.publish({ source, status: 409, reason: "Conflict", durationMs: 30 });
    channels.leasesCulled.publish({ source, count: 2 });
    expect(await samples(`${K}lease_list_total`)).toEqual([`${K}lease_list_total{http_status_code="200",reason=""} 1`]);
    expect(await samples(`${K}lease_delete_total`)).toEqual([
      `${K}lease_delete_total{http_status_code="409",reason="Conflict"} 1`,
    ]);
    expect(await samples(`${K}lease_delete_latency_seconds_bucket{http_status_code="409",le="0.05"}`)).toHaveLength(1);
    expect(await samples(`${K}culled_leases_count`)).toEqual([`${K}culled_leases_count 2`]);
  });

  test("counts events of its own server only, and none after its end", async () => {
    const refusal = { referenceId: "r1", address: "10.0.0.1:443", explanation: {} };
    channels.serverRefused.publish({ ...refusal, source: { name: "another server" } });
    metrics.end();
    channels.serverRefused.publish({ ...refusal, source });
    expect(await samples("drawbridge_server_refusals_total")).toEqual(["drawbridge_server_refusals_total 0"]);
  });

  test("shows at most 500 agents by name and adds the rest up", async () => {
    loads = Array.from({ length: 600 }, (_, index) => ({ agentId: `agent-${index}`, tunnels: 2, queuedBytes: 3 }));
    loads.push({ agentId: "agent-0", tunnels: 10, queuedBytes: 0 });
    loads[1] = { agentId: `"quoted"\n${"x".repeat(300)}`, tunnels: 1, queuedBytes: 0 };
    const lines = await samples("drawbridge_server_agent_tunnels");
    expect(lines).toHaveLength(501);
    expect(lines).toContain('drawbridge_server_agent_tunnels{agent_id="agent-0"} 12');
    expect(lines).toContain('drawbridge_server_agent_tunnels{agent_id="(others)"} 200');
    expect(lines[1]).toMatch(/^drawbridge_server_agent_tunnels\{agent_id="\\"quoted\\"\\nx{119}"\} 1$/);
    expect(await samples('drawbridge_server_agent_queued_bytes{agent_id="(others)"}')).toEqual([
      'drawbridge_server_agent_queued_bytes{agent_id="(others)"} 300',
    ]);
  });

  test("counts paths by state, checks by result, round trips by bucket, and links that were ended", () => {
    metrics.end();
    metrics = serverMetrics(source, { ...readings, paths: () => ["ok", "unknown", "ok"] });
    const about = { source, agentId: "a", stream: 1 };
    channels.serverPathChecked.publish({ ...about, failures: 0, failuresBefore: 0, roundTripMs: 4 });
    channels.serverPathChecked.publish({ ...about, failures: 1, failuresBefore: 0, error: "silence" });
    channels.serverPathChecked.publish({ ...about, source: {}, failures: 1, failuresBefore: 0, error: "another's" });
    channels.serverLinkRecycled.publish({ ...about, failures: 3, error: "silence" });
    metrics.end();
    channels.serverLinkRecycled.publish({ ...about, failures: 3, error: "after the end" });
    const lines = metrics.registry.text().split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        'drawbridge_server_agent_paths{state="ok"} 2',
        'drawbridge_server_agent_paths{state="failing"} 0',
        'drawbridge_server_agent_paths{state="unknown"} 1',
        'drawbridge_server_path_checks_total{result="ok"} 1',
        'drawbridge_server_path_checks_total{result="failed"} 1',
        "drawbridge_server_links_recycled_total 1",
        'drawbridge_server_path_round_trip_seconds_bucket{le="0.005"} 1',
        "drawbridge_server_path_round_trip_seconds_count 1",
      ]),
    );
  });

  test("describes the process with plausible figures", async () => {
    const value = async (name: string) => Number((await samples(`${name} `))[0]?.split(" ")[1]);
    expect(await value("process_resident_memory_bytes")).toBeGreaterThan(10e6);
    expect(await value("process_virtual_memory_bytes")).toBeGreaterThan(await value("process_resident_memory_bytes"));
    expect(Math.abs((await value("process_start_time_seconds")) - Date.now() / 1000)).toBeLessThan(3600);
    expect(await value("process_cpu_seconds_total")).toBeGreaterThan(0);
    expect(await value("process_open_fds")).toBeGreaterThan(2);
    expect(await value("process_max_fds")).toBeGreaterThan(await value("process_open_fds"));
    expect(await samples("nodejs_version_info")).toEqual([`nodejs_version_info{version="${process.version}"} 1`]);
  });
});

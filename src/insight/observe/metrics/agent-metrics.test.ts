import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { ServerLink } from "../../../tunnel/agent/server-link.js";
import * as channels from "../../../tunnel/events/channels.js";
import { SegmentCounters } from "../../../tunnel/link/packet-meter.js";
import { agentMetrics } from "./agent-metrics.js";

const K = "konnectivity_network_proxy_agent_";
const source = { name: "the agent under test" };
let metrics: EventMetrics;

async function samples(name: string): Promise<string[]> {
  const text = metrics.registry.text();
  return text.split("\n").filter((line) => line.startsWith(name));
}

beforeEach(() => {
  metrics = agentMetrics(source, {
    openServerConnections: () => 0,
    knownServerCount: () => 1,
    openEndpointConnections: () => 9,
    segments: () => [["from_agent", new SegmentCounters()]],
    queuedBytes: () => 0,
  });
});
afterEach(() => metrics.end());

describe("agentMetrics", () => {
  test("shows its gauges from the start and no family without a sample", async () => {
    expect(await samples(K)).toEqual([
      `${K}known_server_count 1`,
      `${K}open_endpoint_connections 9`,
      `${K}open_server_connections 0`,
    ]);
    expect(await samples(`# HELP ${K}endpoint_dial_failure_total`)).toEqual([]);
  });

  test("counts only upstream's reasons as endpoint failures", async () => {
    const dial = {
      ...{ source, address: "10.0.0.1:443", connectId: 1, error: "", durationMs: 3 },
      link: {} as ServerLink,
      asked: { id: 1, address: "10.0.0.1:443", askedAt: 0, dialledAt: 0 },
    };
    for (const outcome of ["established", "timeout", "failed", "failed", "policy", "cancelled"] as const) {
      channels.agentDialEnded.publish({ ...dial, outcome });
    }
    expect(await samples(`${K}endpoint_dial_failure_total`)).toEqual([
      `${K}endpoint_dial_failure_total{reason="timeout"} 1`,
      `${K}endpoint_dial_failure_total{reason="unknown"} 2`,
    ]);
    expect(await samples(`${K}dial_duration_seconds_bucket`)).toEqual(
      ["0.005", "0.025", "0.1", "0.5", "2.5", "10", "30", "+Inf"].map(
        (le) => `${K}dial_duration_seconds_bucket{le="${le}"} 1`,
      ),
    );
    expect(await samples("drawbridge_agent_dials_")).toEqual([
      "drawbridge_agent_dials_cancelled_total 1",
      "drawbridge_agent_dials_denied_total 1",
    ]);
  });

  test("keeps the deprecated failure count by direction beside the stream errors", async () => {
    channels.streamError.publish({ source, segment: "from_agent", code: "Unavailable", packetType: "DATA" });
    channels.streamError.publish({ source, segment: "to_agent", code: "Canceled", packetType: "Unknown" });
    expect(await samples(`${K}server_connection_failure_count`)).toEqual([
      `${K}server_connection_failure_count{direction="to_server"} 1`,
      `${K}server_connection_failure_count{direction="from_server"} 1`,
    ]);
    expect(await samples(`${K}stream_errors_total`)).toHaveLength(2);
  });

  test("tells lease lists from lease watches", async () => {
    channels.leaseListed.publish({ source, status: 200, reason: "", durationMs: 20 });
    channels.leaseWatched.publish({ source, status: 403, reason: "Forbidden", durationMs: 20 });
    expect(await samples(`${K}lease_lists_total`)).toEqual([
      `${K}lease_lists_total{http_response_code="200",reason=""} 1`,
    ]);
    expect(await samples(`${K}lease_watches_total`)).toEqual([
      `${K}lease_watches_total{http_response_code="403",reason="Forbidden"} 1`,
    ]);
    expect(await samples(`${K}lease_list_latency_seconds_count`)).toEqual([
      `${K}lease_list_latency_seconds_count{http_response_code="200"} 1`,
    ]);
  });
});

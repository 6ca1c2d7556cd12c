/** What server and agent count alike: packets and errors per segment, lease requests (upstream's); bytes, queues, cuts (ours). */

import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { DurationHistogram, EventCounter, Sample } from "../../../base/metrics/registry.js";
import {
  certificatesRefused,
  certificatesReloaded,
  type LeaseRequest,
  streamError,
  tunnelCut,
} from "../../../tunnel/events/channels.js";
import type { CommonReadings } from "../../../tunnel/events/readings.js";
import { PACKET_NAMES } from "../../../tunnel/wire/packet.js";

export function segmentMetrics(metrics: EventMetrics, role: "server" | "agent", readings: CommonReadings): void {
  const { registry } = metrics;
  registry.counterRead(
    `konnectivity_network_proxy_${role}_stream_packets_total`,
    "Count of packets processed, by segment and packet type (example: from_client, DIAL_REQ)",
    () => packetSamples(readings),
  );
  const errors = registry.counter(
    `konnectivity_network_proxy_${role}_stream_errors_total`,
    "Count of gRPC stream errors, by segment, grpc Code, packet type. (example: from_agent, Code.Unavailable, DIAL_RSP)",
    ["segment", "code", "packet_type"],
  );
  registry.counterRead(
    `drawbridge_${role}_segment_bytes_total`,
    "Payload bytes of tunnels that crossed each segment.",
    () => Array.from(readings.segments(), ([segment, { payloadBytes }]): Sample => [{ segment }, payloadBytes]),
  );
  registry.gauge(
    `drawbridge_${role}_queued_bytes`,
    "Bytes waiting in this process for readers that are slower than their senders.",
    readings.queuedBytes,
  );
  const cut = registry.counter(
    `drawbridge_${role}_tunnels_cut_total`,
    "Tunnels ended because their reader was too slow.",
  );
  const reloads = registry.counter(
    `drawbridge_${role}_certificate_reloads_total`,
    "Certificate files found changed on disk, by result (loaded, or refused and the old ones kept).",
    ["result"],
  );
  metrics.on(streamError, ({ segment, code, packetType }) => errors.inc({ segment, code, packet_type: packetType }));
  metrics.on(tunnelCut, () => cut.inc());
  metrics.on(certificatesReloaded, () => reloads.inc({ result: "loaded" }));
  metrics.on(certificatesRefused, () => reloads.inc({ result: "refused" }));
}

/** Only what has been seen: upstream shows no packet type before its first packet, and knows none of ours. */
function* packetSamples(readings: CommonReadings): Iterable<Sample> {
  for (const [segment, counters] of readings.segments()) {
    for (const [index, packetType] of PACKET_NAMES.entries()) {
      const count = counters.packets[index] ?? 0;
      if (count > 0) yield [{ segment, packet_type: packetType }, count];
    }
  }
}

/** Counts lease requests by their HTTP status; those that got no answer are not counted, as upstream has it. */
export function countLeaseRequests(statusLabel: string, total: EventCounter, latency?: DurationHistogram) {
  return ({ status, reason, durationMs }: LeaseRequest): void => {
    if (status === 0) return;
    total.inc({ [statusLabel]: String(status), reason });
    latency?.observe(durationMs / 1000, { [statusLabel]: String(status) });
  };
}

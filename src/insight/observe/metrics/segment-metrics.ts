/** What server and agent count alike: packets and errors per segment (upstream's), bytes, queues and cuts (ours). */

import {
  countersRead,
  EventCounter,
  gaugeRead,
  type MetricsRegistry,
  type Sample,
} from "../../../base/metrics/registry.js";
import { certificatesRefused, certificatesReloaded, streamError, tunnelCut } from "../../../tunnel/events/channels.js";
import type { SegmentCounters } from "../../../tunnel/link/packet-meter.js";
import { PACKET_NAMES } from "../../../tunnel/wire/packet.js";

interface SegmentReadings {
  segments(): Iterable<readonly [segment: string, counters: SegmentCounters]>;
  queuedBytes(): number;
}

/** Registers the common families for `role` and answers what ends their subscriptions. */
export function segmentMetrics(
  registry: MetricsRegistry,
  role: "server" | "agent",
  source: object,
  readings: SegmentReadings,
): (() => void)[] {
  countersRead(
    registry,
    `konnectivity_network_proxy_${role}_stream_packets_total`,
    "Count of packets processed, by segment and packet type (example: from_client, DIAL_REQ)",
    () => packetSamples(readings),
  );
  const errors = new EventCounter(
    registry,
    `konnectivity_network_proxy_${role}_stream_errors_total`,
    "Count of gRPC stream errors, by segment, grpc Code, packet type. (example: from_agent, Code.Unavailable, DIAL_RSP)",
    ["segment", "code", "packet_type"],
  );
  countersRead(
    registry,
    `drawbridge_${role}_segment_bytes_total`,
    "Payload bytes of tunnels that crossed each segment.",
    () => byteSamples(readings),
  );
  gaugeRead(
    registry,
    `drawbridge_${role}_queued_bytes`,
    "Bytes waiting in this process for readers that are slower than their senders.",
    () => readings.queuedBytes(),
  );
  const cut = new EventCounter(
    registry,
    `drawbridge_${role}_tunnels_cut_total`,
    "Tunnels ended because their reader was too slow.",
  );
  const reloads = new EventCounter(
    registry,
    `drawbridge_${role}_certificate_reloads_total`,
    "Certificate files found changed on disk, by result (loaded, or refused and the old ones kept).",
    ["result"],
  );
  return [
    streamError.subscribe(({ segment, code, packetType }) => {
      errors.inc({ segment, code, packet_type: packetType });
    }, source),
    tunnelCut.subscribe(() => cut.inc(), source),
    certificatesReloaded.subscribe(() => reloads.inc({ result: "loaded" }), source),
    certificatesRefused.subscribe(() => reloads.inc({ result: "refused" }), source),
  ];
}

/** Only what has been seen: upstream shows no packet type before its first packet, and knows none of ours. */
function* packetSamples(readings: SegmentReadings): Iterable<Sample> {
  for (const [segment, counters] of readings.segments()) {
    for (const [index, packetType] of PACKET_NAMES.entries()) {
      const count = counters.packets[index] ?? 0;
      if (count > 0) yield [{ segment, packet_type: packetType }, count];
    }
  }
}

function* byteSamples(readings: SegmentReadings): Iterable<Sample> {
  for (const [segment, counters] of readings.segments()) yield [{ segment }, counters.payloadBytes];
}

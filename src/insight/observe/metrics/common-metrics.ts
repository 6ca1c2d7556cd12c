/** What server and agent count alike: packets and errors per segment, lease requests (upstream's); bytes, queues, cuts (ours). */

import type { Channel, Sourced } from "../../../base/channel.js";
import type { EventMetrics } from "../../../base/metrics/process-metrics.js";
import type { DurationHistogram, EventCounter, Sample } from "../../../base/metrics/registry.js";
import * as channels from "../../../tunnel/events/channels.js";
import type { SegmentCounters } from "../../../tunnel/link/packet-meter.js";
import { PACKET_NAMES } from "../../../tunnel/wire/packet.js";

export interface CommonReadings {
  segments(): Iterable<readonly [segment: string, counters: SegmentCounters]>;
  /** Bytes waiting for slow readers in the whole process. */
  queuedBytes(): number;
}

export function segmentMetrics(metrics: EventMetrics, role: "server" | "agent", readings: CommonReadings): void {
  const { registry } = metrics;
  const [upstreams, ours] = [`konnectivity_network_proxy_${role}_`, `drawbridge_${role}_`];
  registry.counterRead(
    `${upstreams}stream_packets_total`,
    "Count of packets processed, by segment and packet type (example: from_client, DIAL_REQ)",
    () => packetSamples(readings),
  );
  const errors = registry.counter(
    `${upstreams}stream_errors_total`,
    "Count of gRPC stream errors, by segment, grpc Code, packet type. (example: from_agent, Code.Unavailable, DIAL_RSP)",
    ["segment", "code", "packet_type"],
  );
  metrics.on(channels.streamError, ({ segment, code, packetType }) => {
    errors.inc({ segment, code, packet_type: packetType });
  });
  registry.counterRead(`${ours}segment_bytes_total`, "Payload bytes of tunnels that crossed each segment.", () =>
    Array.from(readings.segments(), ([segment, { payloadBytes }]): Sample => [{ segment }, payloadBytes]),
  );
  registry.gauge(
    `${ours}queued_bytes`,
    "Bytes waiting in this process for readers that are slower than their senders.",
    readings.queuedBytes,
  );
  const cut = registry.counter(`${ours}tunnels_cut_total`, "Tunnels ended because their reader was too slow.");
  metrics.on(channels.tunnelCut, () => cut.inc());
  countReloads(metrics, `${ours}certificate`, "Certificate files", [
    channels.certificatesReloaded,
    channels.certificatesRefused,
  ]);
}

/** Counts how often files were found changed, by what came of it. */
export function countReloads<Loaded extends Sourced, Refused extends Sourced>(
  metrics: EventMetrics,
  name: string,
  what: string,
  [loaded, refused]: readonly [Channel<Loaded>, Channel<Refused>],
): void {
  const help = `${what} found changed on disk, by result (loaded, or refused and the old ones kept).`;
  const reloads = metrics.registry.counter(`${name}_reloads_total`, help, ["result"]);
  metrics.on(loaded, () => reloads.inc({ result: "loaded" }));
  metrics.on(refused, () => reloads.inc({ result: "refused" }));
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
  return ({ status, reason, durationMs }: channels.LeaseRequest): void => {
    if (status === 0) return;
    total.inc({ [statusLabel]: String(status), reason });
    latency?.observe(durationMs / 1000, { [statusLabel]: String(status) });
  };
}

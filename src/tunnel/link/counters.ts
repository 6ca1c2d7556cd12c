import { PACKET_TYPE_COUNT } from "../wire/packet.js";

/** Packets and bytes that crossed one segment. Plain numbers: bumped per packet, read only when someone scrapes. */
export class SegmentCounters {
  /** Indexed by the codec's dense packet index (wire/packet.ts), not by the wire number. */
  readonly packets = new Float64Array(PACKET_TYPE_COUNT);
  payloadBytes = 0;
}

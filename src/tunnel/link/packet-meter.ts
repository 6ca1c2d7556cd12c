/** Counts the packets of a stream in one direction for its segment, and shows them to an observer that remembers the last. */
import {
  type ConnectId,
  type ControlPacket,
  PACKET_INDEX,
  PACKET_TYPE_COUNT,
  type PacketName,
} from "../wire/packet.js";
import type { PacketTally } from "../wire/packet-reader.js";
import type { FlightRecorder } from "./flight-recorder.js";

export type Direction = "sent" | "received";

/** Is shown headers, never payload. It is called for every packet, so it may not be slow. */
export type PacketObserver = Pick<FlightRecorder, "turn" | "see" | "seeDial">;

export class PacketMeter implements PacketTally {
  /** The connection whose packets are nobody's traffic: the watchdog's. NaN is no connection's number. */
  uncounted: ConnectId = Number.NaN;
  readonly #counters: SegmentCounters;
  readonly #direction: Direction;
  readonly #observer: PacketObserver | undefined;

  constructor(counters: SegmentCounters, direction: Direction, observer?: PacketObserver) {
    this.#counters = counters;
    this.#direction = direction;
    this.#observer = observer;
  }

  /** A new turn of the event loop begins. */
  turn(): void {
    this.#observer?.turn();
  }

  data(connectId: ConnectId, payloadBytes: number): void {
    if (connectId !== this.uncounted) {
      this.#counters.packets[PACKET_INDEX.DATA]!++;
      this.#counters.payloadBytes += payloadBytes;
    }
    this.#observer?.see(this.#direction, PACKET_INDEX.DATA, connectId, payloadBytes);
  }

  control(packet: ControlPacket): void {
    const index = PACKET_INDEX[packet.type];
    const observer = this.#observer;
    let connectId: ConnectId = 0;
    switch (packet.type) {
      case "DIAL_RSP":
        connectId = packet.connectId;
        observer?.seeDial(this.#direction, index, connectId, packet.random);
        break;
      case "DIAL_REQ":
      case "DIAL_CLS":
        observer?.seeDial(this.#direction, index, connectId, packet.random);
        break;
      case "DRAIN":
        observer?.see(this.#direction, index, connectId, 0);
        break;
      default:
        connectId = packet.connectId;
        observer?.see(this.#direction, index, connectId, packet.type === "CREDIT" ? packet.bytes : 0);
    }
    if (connectId !== this.uncounted) this.#counters.packets[index]!++;
  }

  /**
   * Takes back one packet that was counted in this very turn. A scrape must never see a counter fall: Prometheus would
   * take that for a restart.
   */
  uncount(type: PacketName): void {
    this.#counters.packets[PACKET_INDEX[type]]!--;
  }
}

/** Packets and bytes that crossed one segment. Plain numbers: bumped per packet, read only when someone scrapes. */
export class SegmentCounters {
  /** Indexed by the codec's dense packet index (wire/packet.ts), not by the wire number. */
  readonly packets = new Float64Array(PACKET_TYPE_COUNT);
  payloadBytes = 0;
}

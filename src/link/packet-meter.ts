/** What crosses a stream in one direction: counted for its segment, and shown to a witness that remembers the last of it. */
import { type ConnectId, type ControlPacket, PACKET_INDEX, type PacketName } from "../wire/packet.js";
import type { PacketTally } from "../wire/packet-reader.js";
import type { SegmentCounters } from "./counters.js";

export type Direction = "sent" | "received";

/** Sees headers, never payload; observe/recorder has the real one. Called for every packet, so it may not be slow. */
export interface PacketWitness {
  /** Time has passed since the packets before: reading the clock for each of them would cost more than all the rest. */
  turn(): void;
  /** `index` is the packet type's dense one; `detail` is what else is worth knowing, see `detailOf`. */
  see(direction: Direction, index: number, connectId: ConnectId, detail: number): void;
}

export class PacketMeter implements PacketTally {
  /** The connection whose packets are nobody's traffic: the watchdog's. NaN is no connection's number. */
  uncounted: ConnectId = Number.NaN;
  readonly #counters: SegmentCounters;
  readonly #direction: Direction;
  readonly #witness: PacketWitness | undefined;

  constructor(counters: SegmentCounters, direction: Direction, witness?: PacketWitness) {
    this.#counters = counters;
    this.#direction = direction;
    this.#witness = witness;
  }

  /** What follows happens in a turn of its own. */
  turn(): void {
    this.#witness?.turn();
  }

  data(connectId: ConnectId, payloadBytes: number): void {
    if (connectId !== this.uncounted) {
      this.#counters.packets[PACKET_INDEX.DATA]!++;
      this.#counters.payloadBytes += payloadBytes;
    }
    this.#witness?.see(this.#direction, PACKET_INDEX.DATA, connectId, payloadBytes);
  }

  control(packet: ControlPacket): void {
    const index = PACKET_INDEX[packet.type];
    const connectId = "connectId" in packet ? packet.connectId : 0;
    if (connectId !== this.uncounted) this.#counters.packets[index]!++;
    this.#witness?.see(this.#direction, index, connectId, detailOf(packet));
  }

  /**
   * Takes back one packet that was counted in this very turn. A scrape must never see a counter fall: Prometheus would
   * take that for a restart.
   */
  uncount(type: PacketName): void {
    this.#counters.packets[PACKET_INDEX[type]]!--;
  }
}

/** Credit: how much. Dials: enough of their random number to tell one from another. */
function detailOf(packet: ControlPacket): number {
  if (packet.type === "CREDIT") return packet.bytes;
  return "random" in packet ? Number(BigInt.asUintN(32, packet.random)) : 0;
}

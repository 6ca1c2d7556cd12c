/**
 * The last packets of one link, a flight recorder: written all the time, read when something went wrong.
 * Headers only; there is no place here for a byte of payload. Writing allocates nothing.
 */
import { type Clock, systemClock } from "../../base/clock.js";
import { shown } from "../../base/redact/redact.js";
import type { FlightPacket, FlightRecord, FlightSummary } from "../events/facts.js";
import { type ConnectId, type DialId, PACKET_INDEX, PACKET_NAMES, PACKET_TYPE_COUNT } from "../wire/packet.js";
import type { Direction } from "./packet-meter.js";

/** Powers of two, so that the place of the next one is a mask. A link that has carried that many takes 15 KiB more. */
const KEPT = 512;
const KEPT_AT_FIRST = 8;
const GROWTH = 8;
const SENT = 0x80;

export class FlightRecorder {
  readonly #clock: Clock;
  #kept = KEPT_AT_FIRST;
  #times = new Float64Array(KEPT_AT_FIRST);
  #connectIds = new Float64Array(KEPT_AT_FIRST);
  #bytes = new Uint32Array(KEPT_AT_FIRST);
  /** Whole: cutting a bigint short would cost more than all the rest. */
  #dialIds = new BigInt64Array(KEPT_AT_FIRST);
  /** Packet type and direction. */
  #kinds = new Uint8Array(KEPT_AT_FIRST);
  readonly #totals = new Float64Array(2 * PACKET_TYPE_COUNT);
  /** Time of the current turn. */
  #time: number;
  #sentBytes = 0;
  #receivedBytes = 0;
  /** Packets since the link began. */
  count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#time = clock.now();
  }

  /** Time has passed since the packets before: reading the clock for each of them would cost more than all the rest. */
  turn(): void {
    this.#time = this.#clock.now();
  }

  /** `index` is the packet type's dense one; `bytes` are DATA's payload or CREDIT's grant. */
  see(direction: Direction, index: number, connectId: ConnectId, bytes: number): void {
    this.#bytes[this.#note(direction, index, connectId)] = bytes;
    if (index !== PACKET_INDEX.DATA) return;
    if (direction === "sent") this.#sentBytes += bytes;
    else this.#receivedBytes += bytes;
  }

  /** A packet about a dial. */
  seeDial(direction: Direction, index: number, connectId: ConnectId, dialId: DialId): void {
    this.#dialIds[this.#note(direction, index, connectId)] = dialId;
  }

  /** Answers the place of what else is known about it. */
  #note(direction: Direction, index: number, connectId: ConnectId): number {
    if (this.count === this.#kept && this.#kept < KEPT) this.#grow();
    const at = this.count++ & (this.#kept - 1);
    const sent = direction === "sent";
    this.#times[at] = this.#time;
    this.#connectIds[at] = typeof connectId === "number" ? connectId : Number(connectId);
    this.#kinds[at] = sent ? index | SENT : index;
    this.#totals[sent ? index + PACKET_TYPE_COUNT : index]!++;
    return at;
  }

  /** Most of many links carry hardly anything. */
  #grow(): void {
    this.#kept *= GROWTH;
    this.#times = grown(this.#times, new Float64Array(this.#kept));
    this.#connectIds = grown(this.#connectIds, new Float64Array(this.#kept));
    this.#bytes = grown(this.#bytes, new Uint32Array(this.#kept));
    this.#dialIds = grown(this.#dialIds, new BigInt64Array(this.#kept));
    this.#kinds = grown(this.#kinds, new Uint8Array(this.#kept));
  }

  /** The last ones, oldest first, as they are seen at `now`. */
  *last(now: number): Iterable<FlightPacket> {
    for (let each = Math.max(0, this.count - this.#kept); each < this.count; each++) {
      const at = each & (this.#kept - 1);
      const kind = this.#kinds[at]!;
      const type = PACKET_NAMES[kind & ~SENT]!;
      const connectId = this.#connectIds[at]!;
      // Enough of a dial's random number to tell one from another.
      const dial = BigInt.asUintN(32, this.#dialIds[at]!).toString(16).padStart(8, "0");
      yield {
        agoMs: Math.round((now - this.#times[at]!) * 1000) / 1000,
        direction: kind & SENT ? "sent" : "received",
        type,
        ...(connectId === 0 ? {} : { connectId }),
        ...(type === "DATA" || type === "CREDIT" ? { bytes: this.#bytes[at]! } : {}),
        ...(type.startsWith("DIAL_") ? { dial } : {}),
      };
    }
  }

  /** Totals since the link began, without types that never came. */
  *totals(): Iterable<FlightRecord["totals"][number]> {
    for (const direction of ["sent", "received"] as const) {
      const sent = direction === "sent";
      for (const [index, type] of PACKET_NAMES.entries()) {
        const packets = this.#totals[sent ? index + PACKET_TYPE_COUNT : index]!;
        const bytes = index !== PACKET_INDEX.DATA ? 0 : sent ? this.#sentBytes : this.#receivedBytes;
        if (packets > 0) yield { direction, type, packets, ...(bytes > 0 ? { bytes } : {}) };
      }
    }
  }
}

function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}

const GONE_KEPT = 8;

interface Flight {
  readonly key: number;
  readonly peer: string;
  readonly recorder: FlightRecorder;
  readonly openedAt: number;
  closedAt?: number;
}

/** The flight recorders of a process' links, and of the last few that are gone: most questions come afterwards. */
export class FlightHistory {
  readonly #clock: Clock;
  /** The difference between milliseconds since 1970 and the clock. */
  readonly #epoch: number;
  readonly #open = new Map<number, Flight>();
  readonly #gone = new Map<number, Flight>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#epoch = clock.date() - clock.now();
  }

  /** `key` is the process' own number for the link, `peer` whom it leads to. */
  open(key: number, peer: string): FlightRecorder {
    const recorder = new FlightRecorder(this.#clock);
    this.#open.set(key, { key, peer: shown(peer), recorder, openedAt: this.#clock.now() });
    return recorder;
  }

  close(key: number): void {
    const flight = this.#open.get(key);
    if (flight === undefined) return;
    this.#open.delete(key);
    flight.closedAt = this.#clock.now();
    this.#gone.set(key, flight);
    if (this.#gone.size > GONE_KEPT) this.#gone.delete(this.#gone.keys().next().value!);
  }

  /** All recorded links; those that have ended come last. */
  list(): FlightSummary[] {
    return [...this.#open.values(), ...this.#gone.values()].map((flight) => this.#summary(flight));
  }

  find(key: number): FlightRecord | undefined {
    const flight = this.#open.get(key) ?? this.#gone.get(key);
    return flight && this.#record(flight);
  }

  /** Records of open links. */
  records(limit: number): FlightRecord[] {
    return [...this.#open.values()].slice(0, limit).map((flight) => this.#record(flight));
  }

  #record(flight: Flight): FlightRecord {
    const { recorder } = flight;
    const now = this.#clock.now();
    return {
      ...this.#summary(flight),
      at: this.#wall(now),
      totals: [...recorder.totals()],
      last: [...recorder.last(now)],
    };
  }

  #summary({ key, peer, recorder, openedAt, closedAt }: Flight): FlightSummary {
    return {
      ...{ key, peer, openedAt: this.#wall(openedAt), packets: recorder.count },
      ...(closedAt === undefined ? {} : { closedAt: this.#wall(closedAt) }),
    };
  }

  #wall(at: number): number {
    return Math.round(this.#epoch + at);
  }
}

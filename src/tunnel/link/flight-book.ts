/** The flight recorders of a process' links, and of the last few that are gone: most questions come afterwards. */

import { type Clock, systemClock } from "../../base/clock.js";
import { shown } from "../../base/redact/redact.js";
import type { FlightPacket, FlightRecord, FlightSummary } from "../events/facts.js";
import type { DialId } from "../wire/packet.js";
import { FlightRecorder, type SeenPacket } from "./flight-recorder.js";

const GONE_KEPT = 8;

interface Flight {
  readonly key: number;
  readonly peer: string;
  readonly recorder: FlightRecorder;
  readonly openedAt: number;
  closedAt?: number;
}

export class FlightBook {
  readonly #clock: Clock;
  /** What the clock has to be added to for milliseconds since 1970. */
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

  /** Those that are gone come last. */
  list(): FlightSummary[] {
    return [...this.#open.values(), ...this.#gone.values()].map((flight) => this.#summary(flight));
  }

  find(key: number): FlightRecord | undefined {
    const flight = this.#open.get(key) ?? this.#gone.get(key);
    return flight && this.#record(flight);
  }

  /** The links that stand. */
  records(limit: number): FlightRecord[] {
    return [...this.#open.values()].slice(0, limit).map((flight) => this.#record(flight));
  }

  #record(flight: Flight): FlightRecord {
    const { recorder } = flight;
    const now = this.#clock.now();
    return {
      ...this.#summary(flight),
      at: this.#wall(now),
      totals: [...recorder.totals()].map(({ bytes, ...total }) => ({ ...total, ...(bytes > 0 ? { bytes } : {}) })),
      last: Array.from(recorder.last(), (packet) => describe(packet, now)),
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

function describe({ at, direction, type, connectId, bytes, dialId }: SeenPacket, now: number): FlightPacket {
  return {
    agoMs: Math.round((now - at) * 1000) / 1000,
    direction,
    type,
    ...(connectId === 0 ? {} : { connectId }),
    ...(type === "DATA" || type === "CREDIT" ? { bytes } : {}),
    ...(type.startsWith("DIAL_") ? { dial: lastDigits(dialId) } : {}),
  };
}

/** Enough of a dial's random number to tell one from another. */
function lastDigits(dialId: DialId): string {
  return BigInt.asUintN(32, dialId).toString(16).padStart(8, "0");
}

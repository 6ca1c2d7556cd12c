/**
 * Counts the frames of a peer that carry nothing: pings, settings, window updates, resets, empty DATA. A peer at work
 * sends a few of them for each frame that carries bytes; one that sends little else only makes work.
 */
import type { Clock } from "../../../base/clock.js";

/** At once, and again after ten quiet seconds. */
const MOST_FRAMES = 10_000;
const FRAMES_PER_MS = 1;
/** For each frame that carries bytes, in either direction: gRPC peers send at most two window updates and a ping. */
const FRAMES_PER_CARRIER = 4;

export class FloodGuard {
  /** Frames that carried bytes since the allowance was last reckoned. */
  carriers = 0;
  #left = MOST_FRAMES;
  #reckonedAt: number;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#reckonedAt = clock.now();
  }

  /** False when the peer has sent more frames without bytes than it may. The clock is read only when they run out. */
  allows(): boolean {
    if (--this.#left >= 0) return true;
    const now = this.#clock.now();
    const earned = Math.floor((now - this.#reckonedAt) * FRAMES_PER_MS) + this.carriers * FRAMES_PER_CARRIER;
    this.#left = Math.min(MOST_FRAMES, earned) - 1;
    this.#reckonedAt = now;
    this.carriers = 0;
    return this.#left >= 0;
  }
}

/**
 * Credit between two drawbridge ends of one tunnel, in one direction each.
 *
 * A sender reads on while its window has room for half a read (the other half may overshoot it); the receiver returns
 * what its reader has really taken, by quarters of the window, and widens the window of a tunnel that keeps up, as long
 * as the process-wide budget allows.
 */
import type { Budget } from "./budget.js";

/** Every tunnel starts with this much, unasked: part of the protocol's version 1. */
export const FIRST_WINDOW_BYTES = 64 * 1024;

/** No window grows beyond this. */
export const MAX_WINDOW_BYTES = 2 * 1024 * 1024;

/** Bytes that a peer may send beyond its window: one read of a socket. */
export const OVERSHOOT_BYTES = 64 * 1024;

/**
 * Our own sender asks for this much room before it reads again. Half of the first window: more would cost readers that
 * keep up, for credit comes back by quarters; less costs memory, 2,000 stopped readers hold the overshoot 2,000 times.
 */
export const LEAST_ROOM_BYTES = 32 * 1024;

/**
 * A reader has to take this many windows before it gets a wider one: the kernel's buffers alone take a few hundred
 * kilobytes for a reader that has not read a byte.
 */
const PATIENCE = 4;

export class SendWindow {
  left = FIRST_WINDOW_BYTES;

  get open(): boolean {
    return this.left >= LEAST_ROOM_BYTES;
  }

  sent(bytes: number): void {
    this.left -= bytes;
  }

  granted(bytes: number): void {
    this.left += bytes;
  }
}

export class ReceiveWindow {
  readonly #budget: Budget;
  size = FIRST_WINDOW_BYTES;
  /** Bytes that came and for which no credit was returned yet. */
  #owed = 0;
  #takenSinceWider = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** False when the sender went beyond what it was granted. */
  received(bytes: number): boolean {
    this.#owed += bytes;
    return this.#owed <= this.size + OVERSHOOT_BYTES;
  }

  /** Credit to return now that all but `queued` bytes were taken by the reader; 0 while it is not worth a packet. */
  toGrant(queued: number): number {
    const taken = this.#owed - queued;
    if (taken < this.size / 4) return 0;
    this.#owed -= taken;
    this.#takenSinceWider += taken;
    return taken + (queued === 0 && this.#takenSinceWider >= PATIENCE * this.size ? this.#widen() : 0);
  }

  close(): void {
    this.#budget.returnCredit(this.size - FIRST_WINDOW_BYTES);
    this.size = FIRST_WINDOW_BYTES;
  }

  #widen(): number {
    const more = Math.min(this.size, MAX_WINDOW_BYTES - this.size);
    if (more === 0 || !this.#budget.takeCredit(more)) return 0;
    this.size += more;
    this.#takenSinceWider = 0;
    return more;
  }
}

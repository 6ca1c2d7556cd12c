import { sleep } from "./end.js";

const SLICE_MS = 20;

/**
 * Bulk on average: a transfer takes what it is going to send beforehand and then goes as fast as it can, so that links
 * are full at times and the machine is not busy all the time.
 */
export class BulkBudget {
  readonly #bytesPerMs: number;
  #available: number;
  #asOf = performance.now();

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#available = bytesPerSecond;
  }

  /** False when asked to stop before there was enough. */
  async take(bytes: number, stopped: () => boolean): Promise<boolean> {
    while (this.#refill() < 0) {
      if (stopped()) return false;
      await sleep(SLICE_MS);
    }
    // May go below zero: the next one waits longer.
    this.#available -= bytes;
    return true;
  }

  #refill(): number {
    const now = performance.now();
    // A second's worth at most may be saved up.
    this.#available = Math.min(this.#bytesPerMs * 1000, this.#available + (now - this.#asOf) * this.#bytesPerMs);
    this.#asOf = now;
    return this.#available;
  }
}

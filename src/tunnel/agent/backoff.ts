/** Upstream's: half as much again after each failure, up to a cap, each time a little longer by chance. */
const FACTOR = 1.5;
const JITTER = 0.1;

export class Backoff {
  readonly #first: number;
  readonly #cap: number;
  readonly #random: () => number;
  #current: number;

  constructor(firstMs: number, capMs: number, random: () => number = Math.random) {
    this.#first = firstMs;
    this.#cap = capMs;
    this.#random = random;
    this.#current = firstMs;
  }

  /** How long to wait after one more failure. */
  next(): number {
    const ms = this.#jittered(this.#current);
    this.#current = Math.min(this.#cap, this.#current * FACTOR);
    return ms;
  }

  /** Success: the usual interval again. */
  reset(): number {
    this.#current = this.#first;
    return this.#jittered(this.#first);
  }

  /**
   * Anywhere between nothing and twice as long, on average as long. Agents that search in step behind a balancer that
   * takes turns would otherwise be led to the same server again and again, for minutes.
   */
  scattered(ms: number): number {
    return ms * (0.1 + this.#random() * 1.8);
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#random() * JITTER);
  }
}

import type { Clock } from "./clock.js";

// client-go's 5 and 10 throttle a server that reviews the tokens of many agents at once.
const DEFAULT_QPS = 20;
const DEFAULT_BURST = 40;

/** Token bucket: `burst` requests at once, `qps` a second after that. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #qps: number;
  readonly #burst: number;
  /** Below zero: requests that were promised a later moment. */
  #tokens: number;
  #at: number;

  /** 0 means the default; a negative `qps` switches the limit off, as in client-go. */
  constructor(clock: Clock, qps: number, burst: number) {
    this.#clock = clock;
    this.#qps = qps === 0 ? DEFAULT_QPS : qps;
    this.#burst = burst <= 0 ? DEFAULT_BURST : burst;
    this.#tokens = this.#burst;
    this.#at = clock.now();
  }

  /** Whether one may go now. */
  take(): boolean {
    return this.reserve(0) !== undefined;
  }

  /** How long the caller must wait before it sends; undefined, and nothing reserved, when that is longer than `atMost`. */
  reserve(atMost: number): number | undefined {
    if (this.#qps < 0) return 0;
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#qps);
    this.#at = now;
    const wait = Math.max(0, ((1 - this.#tokens) / this.#qps) * 1000);
    if (wait > atMost) return undefined;
    this.#tokens -= 1;
    return wait;
  }
}

import type { Clock } from "../clock.js";

interface Repeated {
  readonly cause: string;
  readonly at: number;
  count: number;
}

/** Lines that would say the same again and again: the first is written, then one in each interval with the number since. */
export class Repeats {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #most: number;
  /** By key, the one written longest ago first. */
  readonly #last = new Map<string, Repeated>();

  /** `most`: keys that are remembered; strangers may choose them. */
  constructor(clock: Clock, intervalMs: number, most = 256) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#most = most;
  }

  /** Fields of the line that is due now; undefined when none is. A key whose cause has changed is due at once. */
  due(key: string, cause = ""): { readonly times?: number } | undefined {
    const now = this.#clock.now();
    const last = this.#last.get(key);
    const isSame = last?.cause === cause;
    if (isSame && now - last.at < this.#intervalMs) {
      last.count++;
      return undefined;
    }
    this.#last.delete(key);
    this.#last.set(key, { cause, at: now, count: 0 });
    if (this.#last.size > this.#most) {
      const [oldest] = this.#last.keys();
      this.forget(oldest!);
    }
    return isSame ? { times: last.count + 1 } : {};
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}

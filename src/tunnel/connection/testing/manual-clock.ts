import type { Clock } from "../clock.js";

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<{ at: number; action: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that nobody took back. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Time passes without anybody having been called: the process itself stood still. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  /** Fires what falls due, in order; what a timer starts counts from the moment it fired. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.action();
    }
    this.#now = end;
  }
}

import type { Clock } from "../clock.js";

/** A clock that moves only when a test says so. */
export class ManualClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ at: number; run: () => void }>();

  constructor(start = Date.parse("2031-01-01T00:00:00Z")) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How long until each waiting timer fires, soonest first. */
  get waiting(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Moves on, firing what falls due in order; what a timer starts counts from the moment it fired. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }
}

import { type Runtime, systemRuntime } from "../runtime.js";

/** Time that passes only when a test says so; the rest is the system's. */
export class ManualClock implements Runtime {
  readonly soon = systemRuntime.soon;
  readonly next = systemRuntime.next;
  random = systemRuntime.random;
  readonly randomBytes = systemRuntime.randomBytes;
  readonly connect = systemRuntime.connect;
  #now = 1_000_000;
  /** What `now` has to be added to for milliseconds since 1970. */
  #epoch: number;
  readonly #timers = new Set<{ at: number; action: () => void }>();

  constructor(startDate = Date.parse("2031-01-01T00:00:00Z")) {
    this.#epoch = startDate - this.#now;
  }

  now(): number {
    return this.#now;
  }

  date(): number {
    return this.#epoch + this.#now;
  }

  /** Somebody sets the host's clock. */
  step(ms: number): void {
    this.#epoch += ms;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Milliseconds until each timer fires that nobody cancelled, soonest first. */
  get waiting(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Time passes without any timer being called: the process itself did not run. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  /** Fires the timers that fall due, in order; what a timer starts counts from the moment it fired. */
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

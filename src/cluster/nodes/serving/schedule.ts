/** Looks after named things one at a time: each when it is due, again when it asks for it, and less and less often while it fails. */
import { type Clock, systemClock } from "../../../base/clock.js";

interface ScheduleOptions {
  /** Resolves to when to look again. */
  readonly look: (name: string) => Promise<number>;
  readonly onFailure: (name: string, reason: unknown) => void;
  readonly clock?: Clock;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 5 * 60_000;
/** A timer cannot wait for longer than 24 days; looking in vain once an hour costs nothing. */
const LONGEST_SLEEP_MS = 60 * 60_000;

export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #clock: Clock;
  readonly #due = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  #running: Promise<void> | undefined;
  #stopped = false;
  #cancelTimer: () => void = () => {};

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Now, whatever went wrong before. */
  hasten(name: string): void {
    this.#failures.delete(name);
    this.#due.set(name, this.#clock.date());
    this.#wake();
  }

  forget(name: string): void {
    this.#failures.delete(name);
    this.#due.delete(name);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    await this.#running;
  }

  #wake(): void {
    this.#cancelTimer();
    if (this.#stopped || this.#running !== undefined) return;
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
      this.#sleep();
    });
  }

  #sleep(): void {
    if (this.#stopped || this.#due.size === 0) return;
    const next = Math.min(...this.#due.values()) - this.#clock.date();
    if (next <= 0) this.#wake();
    else this.#cancelTimer = this.#clock.after(Math.min(next, LONGEST_SLEEP_MS), () => this.#wake(), true);
  }

  async #work(): Promise<void> {
    for (;;) {
      const [name] = [...this.#due].find(([, due]) => due <= this.#clock.date()) ?? [];
      if (name === undefined || this.#stopped) return;
      // Whoever hastens it from now on means the next look.
      this.#due.set(name, Number.POSITIVE_INFINITY);
      const next = await this.#lookAt(name);
      const hastened = this.#due.get(name);
      if (hastened !== undefined) this.#due.set(name, Math.min(hastened, next));
    }
  }

  async #lookAt(name: string): Promise<number> {
    try {
      const next = await this.#options.look(name);
      this.#failures.delete(name);
      return next;
    } catch (reason) {
      const failures = this.#failures.get(name) ?? 0;
      this.#failures.set(name, failures + 1);
      this.#options.onFailure(name, reason);
      return this.#clock.date() + Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
    }
  }
}

/**
 * A queue of keys, which name objects that are in memory anyway. Each waits once however often it is added, one is worked on
 * at a time, and failures are retried with growing delays.
 */
import type { Clock } from "../../base/clock.js";

/** When a key is worked on next: when it is added, after a delay that grows, or at a time in milliseconds since 1970. */
export type WorkOutcome = "wait" | "retry" | number;

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Should not throw; if it does, that is a failure like any other. */
  readonly work: (key: string) => Promise<WorkOutcome>;
  /** The delay after a failure grows from a second to this. */
  readonly longestDelayMs?: number;
}

const FIRST_DELAY_MS = 1000;
const DEFAULT_LONGEST_DELAY_MS = 10_000;
/** Longer timers overflow. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #timers = new Map<string, () => void>();
  readonly #failures = new Map<string, number>();
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Keys that are due, without the one that is worked on. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Works on the key soon: its delay ends, its count of failures stays. */
  add(key: string): void {
    if (this.#stopped) return;
    this.#cancel(key);
    this.#waiting.add(key);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Drops the key, its delay and its count of failures. */
  forget(key: string): void {
    this.#cancel(key);
    this.#waiting.delete(key);
    this.#failures.delete(key);
  }

  /** Waits for the key that is worked on; the others are dropped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    await this.#running;
  }

  async #run(): Promise<void> {
    // Keys that are added together all wait before the first is worked on.
    await Promise.resolve();
    while (!this.#stopped) {
      const [key] = this.#waiting;
      if (key === undefined) return;
      this.#waiting.delete(key);
      this.#settle(key, await this.#work(key));
    }
  }

  async #work(key: string): Promise<WorkOutcome> {
    try {
      return await this.#options.work(key);
    } catch {
      return "retry";
    }
  }

  #settle(key: string, outcome: WorkOutcome): void {
    if (this.#stopped) return;
    const failures = outcome === "retry" ? (this.#failures.get(key) ?? 0) + 1 : 0;
    if (failures === 0) this.#failures.delete(key);
    else this.#failures.set(key, failures);
    // The key was added again meanwhile: that comes first.
    if (outcome === "wait" || this.#waiting.has(key)) return;
    const { clock, longestDelayMs = DEFAULT_LONGEST_DELAY_MS } = this.#options;
    const delay =
      outcome === "retry"
        ? Math.min(longestDelayMs, FIRST_DELAY_MS * 2 ** (failures - 1))
        : Math.min(LONGEST_TIMER_MS, Math.max(0, outcome - clock.date()));
    this.#cancel(key);
    this.#timers.set(
      key,
      clock.after(delay, () => this.add(key), true),
    );
  }

  #cancel(key: string): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
  }
}

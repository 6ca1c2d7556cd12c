/** Collects what comes in a rush and hands it on together; what cannot be handed on is kept and tried again. */
import { type Clock, pause, systemClock } from "../../kube/clock.js";

export interface BatchOptions<T> {
  readonly write: (items: readonly T[]) => Promise<void>;
  readonly onError: (reason: unknown) => void;
  readonly clock?: Clock;
}

const GATHER_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** The oldest go first: an outage must not become a shortage of memory. */
const MOST = 50_000;

export class Batch<T> {
  readonly #options: BatchOptions<T>;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #waiting: T[] = [];
  #running: Promise<void> | undefined;

  constructor(options: BatchOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length > MOST) this.#waiting.shift();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Tries once more to hand on what there is. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#hand();
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#stopped.signal.aborted) {
      await pause(this.#clock, Math.min(LONGEST_DELAY_MS, GATHER_MS * 2 ** failures), this.#stopped.signal);
      failures = (await this.#hand()) ? 0 : failures + 1;
    }
  }

  async #hand(): Promise<boolean> {
    const items = this.#waiting;
    if (items.length === 0) return true;
    this.#waiting = [];
    try {
      await this.#options.write(items);
      return true;
    } catch (reason) {
      this.#waiting = [...items, ...this.#waiting];
      this.#options.onError(reason);
      return false;
    }
  }
}

/** How long a command waits, and what it says meanwhile. */

import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isTransient } from "../../kube/errors.js";

export interface Progress {
  /** Something happened. */
  log(line: string): void;
  /** What is being waited for now. */
  status(line: string): void;
}

export interface DeadlineOptions {
  readonly timeoutMs: number;
  readonly progress: Progress;
  readonly clock?: Clock;
  readonly everyMs?: number;
  /** Fires when somebody has had enough. */
  readonly signal?: AbortSignal;
}

const DEFAULT_EVERY_MS = 1000;

export class Deadline {
  readonly progress: Progress;
  readonly clock: Clock;
  readonly #end: number;
  readonly #options: DeadlineOptions;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.progress = options.progress;
    this.clock = options.clock ?? systemClock;
    this.#end = this.clock.now() + options.timeoutMs;
  }

  /** Nothing should be begun any more. */
  get hasPassed(): boolean {
    return this.clock.now() >= this.#end || this.#options.signal?.aborted === true;
  }

  get timeout(): string {
    return `${Math.round(this.#options.timeoutMs / 1000)} s`;
  }

  /** Until the next look. */
  async pause(): Promise<void> {
    const left = Math.max(0, this.#end - this.clock.now());
    await pause(this.clock, Math.min(left, this.#options.everyMs ?? DEFAULT_EVERY_MS), this.#options.signal);
  }

  /** With its own time, but the same manners. */
  within(timeoutMs: number): Deadline {
    const left = Math.max(0, this.#end - this.clock.now());
    return new Deadline({ ...this.#options, timeoutMs: Math.min(left, timeoutMs) });
  }

  /** Again until it does not fail for a reason that passes. */
  async retry<T>(what: string, run: () => Promise<T>): Promise<T> {
    const { value } = await this.poll(what, async () => ({ value: await run() }));
    return value;
  }

  /** Again and again until it gives something; an API that is away is waited for like everything else. */
  async poll<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    let trouble = "";
    for (;;) {
      try {
        const found = await look();
        if (found !== undefined) return found;
        trouble = "";
      } catch (reason) {
        if (!isTransient(reason)) throw reason;
        trouble = messageOf(reason);
        this.progress.status(`${what}: ${trouble}`);
      }
      if (this.hasPassed) throw this.#over(what, trouble);
      await this.pause();
    }
  }

  #over(what: string, trouble: string): DrawbridgeError {
    const why = this.#options.signal?.aborted === true ? "it was interrupted" : `${this.timeout} were not enough`;
    const last = trouble === "" ? "" : `; last: ${trouble}`;
    return new DrawbridgeError("DB_WORKERS_WAIT", `${what}: ${why}${last}`);
  }
}

/** How long a command waits, and the progress that it shows meanwhile. */

import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isTransient } from "../../kube/errors.js";

export interface Progress {
  /** Shows a line for something that happened. */
  log(line: string): void;
  /** Shows what the command waits for now. */
  status(line: string): void;
}

export interface DeadlineOptions {
  readonly timeoutMs: number;
  readonly progress: Progress;
  readonly clock?: Clock;
  readonly everyMs?: number;
  /** Fires when the user interrupts the command. */
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

  /** Whether nothing more should be started. */
  get hasPassed(): boolean {
    return this.clock.now() >= this.#end || this.#options.signal?.aborted === true;
  }

  get timeout(): string {
    return `${Math.round(this.#options.timeoutMs / 1000)} s`;
  }

  /** Waits until the next attempt. */
  async pause(): Promise<void> {
    const left = Math.max(0, this.#end - this.clock.now());
    await pause(this.clock, Math.min(left, this.#options.everyMs ?? DEFAULT_EVERY_MS), this.#options.signal);
  }

  /** A shorter deadline with the same progress, clock and signal. */
  within(timeoutMs: number): Deadline {
    const left = Math.max(0, this.#end - this.clock.now());
    return new Deadline({ ...this.#options, timeoutMs: Math.min(left, timeoutMs) });
  }

  /** Repeats the action while the API fails for a reason that may pass. */
  async retry<T>(what: string, run: () => Promise<T>): Promise<T> {
    const { value } = await this.poll(what, async () => ({ value: await run() }));
    return value;
  }

  /** Repeats the attempt until it returns a value. Failures of the API that may pass are waited for, too. */
  async poll<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    let problem = "";
    for (;;) {
      try {
        const found = await look();
        if (found !== undefined) return found;
        problem = "";
      } catch (reason) {
        if (!isTransient(reason)) throw reason;
        problem = messageOf(reason);
        this.progress.status(`${what}: ${problem}`);
      }
      if (this.hasPassed) throw this.#over(what, problem);
      await this.pause();
    }
  }

  #over(what: string, problem: string): DrawbridgeError {
    const why = this.#options.signal?.aborted === true ? "it was interrupted" : `${this.timeout} were not enough`;
    const last = problem === "" ? "" : `; last: ${problem}`;
    return new DrawbridgeError("DB_WORKERS_WAIT", `${what}: ${why}${last}`);
  }
}

/** One thread that plays worlds, as the command sees it: one question at a time, and a deadline for every world. */
import { Worker } from "node:worker_threads";
import type { Questions, SeedFailure, ThreadData } from "./serve.js";

export const ENDS = "a world ends, in real time too";

/** A world takes milliseconds; this much only where events follow each other without end. */
const WORLD_DEADLINE_MS = 60_000;
/** For a thread to load its program and begin. */
const START_DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 500;

/** A world that did not end, or ended its thread. */
export class WorldLost extends Error {
  override readonly name = "WorldLost";
  readonly failure: SeedFailure;

  constructor(seed: number, property: string, message: string) {
    super(message);
    this.failure = { seed, property, message, atMs: 0 };
  }
}

/** The question that waits for its answer. */
interface Waiting {
  resolve(answer: unknown): void;
  reject(reason: WorldLost): void;
}

const SURVIVES = "a world does not end its process";

export class Thread {
  readonly #bundle: string;
  readonly #progress = new Float64Array(new SharedArrayBuffer(16));
  readonly #worldDeadlineMs: number;
  #worker: Worker | undefined;
  #waiting: Waiting | undefined;

  /** `bundle` is the file of a program that calls serve(). */
  constructor(bundle: string, worldDeadlineMs = WORLD_DEADLINE_MS) {
    this.#bundle = bundle;
    this.#worldDeadlineMs = worldDeadlineMs;
  }

  /** Throws a WorldLost when a world does not come to its end; the next question gets a new thread. */
  async ask<K extends keyof Questions>(question: K, ask: Questions[K]["ask"]): Promise<Questions[K]["answer"]> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const look = this.#watch();
    try {
      const answer = await new Promise<unknown>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        worker.postMessage([question, ask]);
      });
      return answer as Questions[K]["answer"];
    } catch (reason) {
      await this.end();
      throw reason;
    } finally {
      clearInterval(look);
      this.#waiting = undefined;
    }
  }

  #start(): Worker {
    const workerData: ThreadData = { progress: this.#progress };
    const worker = new Worker(this.#bundle, { workerData });
    worker.on("message", (answer: unknown) => this.#waiting?.resolve(answer));
    worker.on("error", (error) => this.#lost(worker, SURVIVES, String(error.stack ?? error)));
    worker.on("exit", () => this.#lost(worker, SURVIVES, "the thread ended"));
    return worker;
  }

  #lost(worker: Worker, property: string, message: string): void {
    if (worker === this.#worker) this.#waiting?.reject(new WorldLost(this.#progress[0]!, property, message));
  }

  #watch(): NodeJS.Timeout {
    const worker = this.#worker!;
    const atFirst = this.#progress[1];
    let plays = atFirst;
    let since = performance.now();
    return setInterval(() => {
      const deadlineMs = plays === atFirst ? START_DEADLINE_MS : this.#worldDeadlineMs;
      if (this.#progress[1] !== plays) {
        plays = this.#progress[1];
        since = performance.now();
      } else if (performance.now() - since > deadlineMs)
        this.#lost(worker, ENDS, `it had not ended after ${deadlineMs / 1000} s`);
    }, LOOK_EVERY_MS);
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

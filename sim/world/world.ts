/**
 * A world in virtual time. Everything that happens is an event on one heap; between two events everything that Node runs
 * before its next turn (ticks and promises) is run to its end, so that the code under test sees Node's order.
 */
import type { Failure } from "../types.js";
import { Event, EventHeap } from "./heap.js";
import { hashOf, Random } from "./random.js";

/** A world that has not ended by then has no end. */
const MOST_EVENTS = 2_000_000;

/** Turns of Node that are asked for at once. */
const FEWEST_AHEAD = 4;
const MOST_AHEAD = 128;

/** Of kinds and names, which are the same few in all worlds. */
const hashes = new Map<string, number>();

export interface WorldOptions {
  readonly seed: number;
  readonly trace?: ((line: string) => void) | undefined;
  /** Timers are late by up to this much. */
  readonly timerLatenessMs?: number;
}

export class World {
  readonly seed: number;
  readonly timerLatenessMs: number;
  /** Milliseconds since it began. */
  now = 0;
  events = 0;
  failure: Failure | undefined;
  /** Called after every event, when all of its consequences in the same turn have happened, with whose event it was. */
  afterEvent: (host: Event["host"]) => void = () => {};
  #lastHost: Event["host"];
  readonly order: Random;
  readonly #heap = new EventHeap();
  readonly #trace: ((line: string) => void) | undefined;
  #hash = 0x811c9dc5;
  #numbers = 0;
  #stopped = false;

  constructor({ seed, trace, timerLatenessMs = 0 }: WorldOptions) {
    this.seed = seed;
    this.timerLatenessMs = timerLatenessMs;
    this.order = new Random(seed, "order");
    this.#trace = trace;
  }

  /** Numbers of one part of the world, which the others do not disturb. */
  random(name: string): Random {
    return new Random(this.seed, name);
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** Something happens after so long; in which order with what happens at the same time, the seed says. */
  after(ms: number, kind: string, action: () => void, host?: Event["host"], order = this.order.uint32()): Event {
    const event = new Event(this.now + Math.max(0, ms), order, ++this.#numbers, kind, host, action);
    this.#heap.push(event);
    return event;
  }

  /** The same for something that does nothing but cause other events. */
  afterBarely(ms: number, kind: string, action: () => void): void {
    this.after(ms, kind, action).isBare = true;
  }

  /** Becomes part of the hash, and of the trace if there is one. */
  note(kind: string, who: string, amount = 0): void {
    this.#fold(this.#hashOf(kind));
    this.#fold(this.#hashOf(who));
    this.#fold(amount | 0);
    this.#trace?.(`${this.now.toFixed(3).padStart(12)}  ${who.padEnd(14)} ${kind}${amount === 0 ? "" : ` ${amount}`}`);
  }

  #hashOf(text: string): number {
    let hash = hashes.get(text);
    if (hash === undefined) {
      hash = hashOf(text);
      hashes.set(text, hash);
    }
    return hash;
  }

  #fold(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193);
    this.#hash ^= this.#hash >>> 15;
  }

  fail(property: string, message: string): void {
    this.failure ??= { property, message, atMs: this.now };
    this.stop();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Runs until it is stopped, nothing is left to happen, or the time is over. */
  run(untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.#stopped = false;
    const onUncaught = (error: unknown): void => this.fail("no uncaught error", stackOf(error));
    process.on("uncaughtException", onUncaught);
    process.on("unhandledRejection", onUncaught);
    return new Promise<void>((resolve) => {
      let isOver = false;
      let ahead = 0;
      let most = FEWEST_AHEAD;
      // Between two immediates Node runs ticks and promises until none are left. Many at once cost no turn of its loop each.
      const lookAhead = (): void => {
        ahead = most;
        most = Math.min(2 * most, MOST_AHEAD);
        for (let count = 0; count < ahead; count++) setImmediate(onQuiet);
      };
      const onQuiet = (): void => {
        if (isOver) return;
        if (!this.#stopped) this.#guard(this.#onQuiet);
        isOver = this.#stopped || !this.#step(untilMs);
        if (!isOver) {
          if (--ahead === 0) lookAhead();
          return;
        }
        process.off("uncaughtException", onUncaught);
        process.off("unhandledRejection", onUncaught);
        resolve();
      };
      lookAhead();
    });
  }

  readonly #onQuiet = (): void => this.afterEvent(this.#lastHost);

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail("no uncaught error", stackOf(error));
    }
  }

  /** For callbacks that Node runs in a tick: what they throw is found where it belongs. */
  guarded(action: () => void): () => void {
    return () => this.#guard(action);
  }

  #step(untilMs: number): boolean {
    for (;;) {
      const event = this.#heap.pop();
      if (event === undefined) return false;
      const { action, host, time, kind } = event;
      if (action === undefined) continue;
      if (time > untilMs) {
        this.#heap.push(event);
        this.now = untilMs;
        return false;
      }
      this.now = time;
      this.#lastHost = host;
      if (++this.events > MOST_EVENTS) {
        this.fail("the world ends", `${MOST_EVENTS} events have happened, the last one is ${kind}`);
        return false;
      }
      this.#fold((time * 1000) | 0);
      this.note(kind, host?.name ?? "network");
      this.#guard(action);
      if (!event.isBare || this.#stopped) return true;
    }
  }
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** One process of the world: its clock, its turns, its numbers. It can be frozen, and it can be killed. */
import type { Clock } from "../../src/base/clock.js";
import type { Event } from "./heap.js";
import type { Random } from "./random.js";
import type { World } from "./world.js";

/** The date on which every world begins. */
const BEGINNING = Date.UTC(2026, 0, 1);

/** A turn of a loop that has something to do takes up to this long. */
const LONGEST_TURN_MS = 0.05;

export class Host {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  readonly clock: Clock;
  /** By how much its date is wrong. */
  dateOffsetMs = 0;
  /** Timers that have not fired. */
  timers = 0;
  alive = true;
  readonly #bornAt: number;
  #frozen = false;
  #waiting: (() => void)[] = [];
  #immediates: (() => void)[] = [];
  /** By duration: when the newest such timer is due. Timers of one duration fire in the order in which they began. */
  readonly #dueAt = new Map<number, number>();

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.#bornAt = world.now;
    this.random = world.random(`host ${name} ${world.now}`);
    this.clock = {
      now: () => world.now - this.#bornAt + 1000,
      date: () => BEGINNING + world.now + this.dateOffsetMs,
      after: (ms, action) => this.#startTimer(ms, action),
    };
  }

  /** Something happens to this process after so long, or once it runs again. */
  after(ms: number, kind: string, action: () => void, order?: number): Event {
    return this.world.after(ms, kind, () => this.#run(action), this, order);
  }

  #run(action: () => void): void {
    if (!this.alive) return;
    if (this.#frozen) this.#waiting.push(action);
    else action();
  }

  #startTimer(ms: number, action: () => void): () => void {
    // As Node's: at least a millisecond, and whole ones.
    const duration = ms >= 1 ? Math.min(Math.trunc(ms), 2 ** 31 - 1) : 1;
    const { world } = this;
    const late = world.timerLatenessMs === 0 ? 0 : this.random.float() * world.timerLatenessMs;
    const dueAt = Math.max(world.now + duration + late, this.#dueAt.get(duration) ?? 0);
    this.#dueAt.set(duration, dueAt);
    this.timers++;
    let isOver = false;
    const over = (): void => {
      if (!isOver) this.timers--;
      isOver = true;
    };
    const event = this.after(
      dueAt - world.now,
      "timer",
      () => {
        if (isOver) return;
        over();
        action();
      },
      duration,
    );
    return () => {
      over();
      event.action = undefined;
    };
  }

  /** As `process.nextTick`. */
  tick(action: () => void): void {
    process.nextTick(this.world.guarded(() => this.#run(action)));
  }

  /** As `setImmediate`: after what else this turn of the loop brings. */
  immediate(action: () => void): void {
    this.#immediates.push(action);
    if (this.#immediates.length > 1) return;
    this.after(this.random.float() * LONGEST_TURN_MS, "immediates", this.#runImmediates);
  }

  readonly #runImmediates = (): void => {
    const immediates = this.#immediates;
    this.#immediates = [];
    this.#runInTurn(immediates, 0);
  };

  /** Ticks and promises run between two of them. */
  #runInTurn(actions: readonly (() => void)[], at: number): void {
    if (at + 1 < actions.length) this.after(0, "immediate", () => this.#runInTurn(actions, at + 1), 0);
    actions[at]?.();
  }

  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    // One by one, each in a turn of its own and in their order.
    waiting.forEach((action, index) => {
      this.after(0, "late", action, index);
    });
  }

  kill(): void {
    this.alive = false;
    this.#waiting = [];
    this.#immediates = [];
  }
}

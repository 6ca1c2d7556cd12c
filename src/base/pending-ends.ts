/** Ends of connections that are under way, by the clock that bounds them. */
import type { Clock } from "./clock.js";

interface Closing {
  on(event: "close", listener: () => void): unknown;
}

const endsBy = new WeakMap<Clock, PendingEnds<never>>();

/** The ends of a clock. `sever` is for those whose time is up, and the same in every call. */
export function pendingEnds<T extends Closing>(clock: Clock, sever: (socket: T) => void): PendingEnds<T> {
  const known = endsBy.get(clock);
  if (known !== undefined) return known as PendingEnds<T>;
  const ends = new PendingEnds(clock, sever);
  endsBy.set(clock, ends);
  return ends;
}

/** Where a socket finds its end. */
const END = Symbol("end");
type Ending = Closing & { [END]?: End };

interface End {
  readonly ends: PendingEnds<never>;
  readonly socket: Ending;
  readonly dueAt: number;
  /** Its place among all. */
  at: number;
}

function onClose(this: Ending): void {
  const end = this[END]!;
  end.ends.remove(end);
}

/** There may be thousands: they share one timer and one listener. */
class PendingEnds<T extends Closing> {
  readonly #clock: Clock;
  readonly #sever: (socket: T) => void;
  readonly #all: End[] = [];
  #lookAt = Number.POSITIVE_INFINITY;
  #cancelLook = (): void => {};
  /** Called once none is left. */
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock, sever: (socket: T) => void) {
    this.#clock = clock;
    this.#sever = sever;
  }

  add(socket: T & Ending, withinMs: number): void {
    if (socket[END] !== undefined) return;
    const dueAt = this.#clock.now() + withinMs;
    socket[END] = { ends: this, socket, dueAt, at: this.#all.length };
    this.#all.push(socket[END]);
    socket.on("close", onClose);
    this.#lookBy(dueAt);
  }

  remove(end: End): void {
    const last = this.#all.pop()!;
    if (last !== end) {
      this.#all[end.at] = last;
      last.at = end.at;
    }
    if (this.#all.length > 0) return;
    this.#cancelLook();
    this.#lookAt = Number.POSITIVE_INFINITY;
    for (const done of this.#waiting.splice(0)) done();
  }

  #lookBy(dueAt: number): void {
    if (dueAt >= this.#lookAt) return;
    this.#cancelLook();
    this.#lookAt = dueAt;
    this.#cancelLook = this.#clock.after(dueAt - this.#clock.now(), this.#look);
  }

  readonly #look = (): void => {
    const now = this.#clock.now();
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.severDue(now);
    for (const { dueAt } of this.#all) if (dueAt > now) this.#lookBy(dueAt);
  };

  /** Whether there was any. */
  severDue(now: number): boolean {
    const due = this.#all.filter(({ dueAt }) => dueAt <= now);
    for (const { socket } of due) this.#sever(socket as T);
    return due.length > 0;
  }

  /** Resolves when none is left, or after this time. */
  over(withinMs: number): Promise<void> {
    if (this.#all.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancelLate = this.#clock.after(withinMs, resolve, true);
      this.#waiting.push(() => {
        cancelLate();
        resolve();
      });
    });
  }
}

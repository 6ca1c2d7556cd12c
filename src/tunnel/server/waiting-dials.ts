/**
 * Dials for which no agent is connected that takes them. They wait for one, first come first served, each within its own
 * time, and all with one timer. Once nobody has come for a while, nobody is waited for: a control plane without nodes
 * must not keep every caller for seconds.
 */
import type { Clock } from "../../base/clock.js";
import { ShortLivedMap } from "../../base/short-lived.js";
import { isoTime } from "../../base/text.js";

/** More are refused at once, as without waiting. Each is a connection of its caller's, with what that has sent so far. */
export const MAX_WAITING = 1_024;

/** So long after the first dial that waits, without an agent that came or went, dials are refused at once until one does. */
export const GIVE_UP_MS = 30_000;

export interface WaitingDial {
  readonly id: number;
  readonly startedAt: number;
  /** Asks an agent, if there is one now. */
  resume(): boolean;
  /** Nobody came. */
  giveUp(): void;
}

export class WaitingDials<D extends WaitingDial = WaitingDial> {
  /** 0: nobody waits. */
  readonly waitMs: number;
  readonly #clock: Clock;
  readonly #queue = new ShortLivedMap<number, D>();
  readonly #say: (level: "info" | "warn", message: string) => void;
  /** When the first dial waited since an agent came or went. */
  #since: number | undefined;
  #hasSaid = false;
  #cancelTimer: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, waitMs: number, say: (level: "info" | "warn", message: string) => void) {
    this.#clock = clock;
    this.waitMs = waitMs;
    this.#say = say;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** In the order in which they came. */
  dials(): IterableIterator<D> {
    return this.#queue.values();
  }

  /** Why dials do not wait at present, without a full stop; undefined: they do. */
  get givenUp(): string | undefined {
    const vainMs = this.#since === undefined ? 0 : this.#clock.now() - this.#since;
    if (vainMs < GIVE_UP_MS) return undefined;
    const since = isoTime(this.#clock.date() - vainMs);
    return `no agent has connected since ${since}, so dials no longer wait until one connects`;
  }

  /** Why a further dial would not wait, without a full stop; undefined: it would. */
  get full(): string | undefined {
    return this.#queue.size < MAX_WAITING ? undefined : `${MAX_WAITING} dials wait for one already`;
  }

  /** False: it has to be refused now. */
  add(dial: D): boolean {
    if (this.#left(dial) <= 0 || this.full !== undefined || this.#hasGivenUp()) return false;
    this.#since ??= this.#clock.now();
    this.#queue.set(dial.id, dial);
    // One that lost its agent may have less time left than those that have waited longer.
    this.#arm(this.#left(dial));
    return true;
  }

  #hasGivenUp(): boolean {
    const why = this.givenUp;
    if (why !== undefined && !this.#hasSaid) {
      this.#hasSaid = true;
      this.#say("warn", `${why} (--wait-for-agent)`);
    }
    return why !== undefined;
  }

  drop(dial: D): void {
    if (this.#queue.delete(dial.id) && this.#queue.size === 0) this.#disarm();
  }

  /** One has come, or has gone and may come back. */
  agentsChanged(how: "connected" | "left" = "left"): void {
    this.#since = this.#queue.size === 0 ? undefined : this.#clock.now();
    if (this.#hasSaid) this.#say("info", `an agent has ${how}: dials wait for one again (--wait-for-agent)`);
    this.#hasSaid = false;
  }

  /** Everyone who can is served. */
  agentCame(): void {
    this.agentsChanged("connected");
    for (const dial of [...this.#queue.values()]) if (dial.resume()) this.drop(dial);
  }

  /** Nobody will come any more. */
  giveUpAll(): void {
    for (const dial of [...this.#queue.values()]) this.#giveUp(dial);
  }

  #left({ startedAt }: D): number {
    return startedAt + this.waitMs - this.#clock.now();
  }

  #giveUp(dial: D): void {
    this.drop(dial);
    dial.giveUp();
  }

  /** The timer is due in so long, or sooner. */
  #arm(ms: number): void {
    const dueAt = this.#clock.now() + ms;
    if (dueAt >= this.#dueAt) return;
    this.#disarm();
    this.#dueAt = dueAt;
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      for (const dial of [...this.#queue.values()]) {
        const left = this.#left(dial);
        if (left > 0) this.#arm(left);
        else this.#giveUp(dial);
      }
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#dueAt = Number.POSITIVE_INFINITY;
  }
}

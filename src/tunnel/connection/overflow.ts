/**
 * Slow readers behind a peer that knows no window. The only brake the protocol has is to stop reading the whole link,
 * which stops everyone on it; so a slow reader may use that brake for one second in all while others share the link,
 * and is cut after that. A reader alone on its link hurts nobody and is waited for.
 */

import type { Clock } from "../../base/clock.js";
import type { Budget } from "./budget.js";
import type { Tunnel } from "./tunnel.js";

/** How long one tunnel may hold up the others; earned back ten times slower than it is spent. */
const ALLOWANCE_MS = 1000;
const EARN_BACK = 0.1;
const TICK_MS = 50;

export interface OverflowLink {
  pauseReading(): void;
  resumeReading(): void;
  /** Whether anyone but `tunnel` waits for this link. */
  sharedWithOthers(tunnel: Tunnel): boolean;
  cutSlowReader(tunnel: Tunnel, queuedBytes: number): void;
}

interface Account {
  leftMs: number;
  lastMs: number;
}

export class Overflow {
  readonly #clock: Clock;
  readonly #link: OverflowLink;
  readonly #budget: Budget;
  readonly #accounts = new WeakMap<Tunnel, Account>();
  readonly #slow = new Set<Tunnel>();
  #cancelTick: (() => void) | undefined;

  constructor(clock: Clock, link: OverflowLink, budget: Budget) {
    this.#clock = clock;
    this.#link = link;
    this.#budget = budget;
  }

  /** The link is paused because of someone. */
  get active(): boolean {
    return this.#slow.size > 0;
  }

  add(tunnel: Tunnel): void {
    if (this.#slow.has(tunnel)) return;
    const now = this.#clock.now();
    const account = this.#accounts.get(tunnel) ?? { leftMs: ALLOWANCE_MS, lastMs: now };
    account.leftMs = Math.min(ALLOWANCE_MS, account.leftMs + (now - account.lastMs) * EARN_BACK);
    account.lastMs = now;
    this.#accounts.set(tunnel, account);
    if (this.#slow.size === 0) this.#link.pauseReading();
    this.#slow.add(tunnel);
    tunnel.overflowing = true;
    this.#cancelTick ??= this.#clock.after(TICK_MS, this.#tick);
  }

  /** The tunnel has ended, or its reader caught up. */
  remove(tunnel: Tunnel): void {
    if (!this.#slow.delete(tunnel)) return;
    tunnel.overflowing = false;
    const account = this.#accounts.get(tunnel);
    if (account !== undefined) account.lastMs = this.#clock.now();
    if (this.#slow.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#link.resumeReading();
  }

  readonly #tick = (): void => {
    this.#cancelTick = undefined;
    const now = this.#clock.now();
    // Asked once: the answer costs as much as there are tunnels.
    const overfull = this.#budget.overfull();
    for (const tunnel of [...this.#slow]) {
      const queued = tunnel.port.queuedBytes;
      if (this.#caughtUp(queued, overfull)) this.remove(tunnel);
      else if (this.#spend(tunnel, now)) {
        this.remove(tunnel);
        this.#link.cutSlowReader(tunnel, queued);
      }
    }
    if (this.#slow.size > 0) this.#cancelTick ??= this.#clock.after(TICK_MS, this.#tick);
  };

  /** While the whole process holds too much, only an empty queue counts. */
  #caughtUp(queued: number, overfull: boolean): boolean {
    return queued === 0 || (queued <= this.#budget.limits.tunnelQueueBytes / 2 && !overfull);
  }

  /** True when the tunnel has used up its allowance. */
  #spend(tunnel: Tunnel, now: number): boolean {
    const account = this.#accounts.get(tunnel)!;
    const passed = now - account.lastMs;
    account.lastMs = now;
    if (this.#link.sharedWithOthers(tunnel)) account.leftMs -= passed;
    return account.leftMs <= 0;
  }
}

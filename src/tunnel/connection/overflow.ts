/**
 * Slow readers behind a peer that knows no window. The only brake the protocol has is to stop reading the whole link,
 * which stops everyone on it; so a slow reader may use that brake for one second in all while others share the link,
 * and is cut after that. A reader alone on its link hurts nobody and is waited for.
 */

import type { TunnelTable } from "./table.js";
import type { Tunnel } from "./tunnel.js";

/** How long one tunnel may hold up the others; earned back ten times slower than it is spent. */
const ALLOWANCE_MS = 1000;
const EARN_BACK = 0.1;
const TICK_MS = 50;

interface Account {
  leftMs: number;
  lastMs: number;
}

export class Overflow {
  readonly #table: TunnelTable;
  readonly #accounts = new WeakMap<Tunnel, Account>();
  readonly #slow = new Set<Tunnel>();
  #cancelTick: (() => void) | undefined;

  constructor(table: TunnelTable) {
    this.#table = table;
  }

  /** The link is paused because of someone. */
  get active(): boolean {
    return this.#slow.size > 0;
  }

  add(tunnel: Tunnel): void {
    if (this.#slow.has(tunnel)) return;
    const now = this.#table.clock.now();
    const account = this.#accounts.get(tunnel) ?? { leftMs: ALLOWANCE_MS, lastMs: now };
    account.leftMs = Math.min(ALLOWANCE_MS, account.leftMs + (now - account.lastMs) * EARN_BACK);
    account.lastMs = now;
    this.#accounts.set(tunnel, account);
    if (this.#slow.size === 0) this.#table.carrier.pause();
    this.#slow.add(tunnel);
    tunnel.overflowing = true;
    this.#cancelTick ??= this.#table.clock.after(TICK_MS, this.#tick);
  }

  /** The tunnel has ended, or its reader caught up. */
  remove(tunnel: Tunnel): void {
    if (!this.#slow.delete(tunnel)) return;
    tunnel.overflowing = false;
    const account = this.#accounts.get(tunnel);
    if (account !== undefined) account.lastMs = this.#table.clock.now();
    if (this.#slow.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#table.carrier.resume();
  }

  readonly #tick = (): void => {
    this.#cancelTick = undefined;
    const now = this.#table.clock.now();
    // Asked once: the answer costs as much as there are tunnels.
    const overfull = this.#table.budget.overfull();
    for (const tunnel of [...this.#slow]) {
      const queued = tunnel.port.queuedBytes;
      // While the whole process holds too much, only an empty queue counts.
      const isLow = queued <= this.#table.budget.limits.tunnelQueueBytes / 2 && !overfull;
      if (queued === 0 || isLow) this.remove(tunnel);
      else if (this.#spend(tunnel, now)) {
        this.remove(tunnel);
        this.#table.cut(tunnel, queued);
      }
    }
    if (this.#slow.size > 0) this.#cancelTick ??= this.#table.clock.after(TICK_MS, this.#tick);
  };

  /** True when the tunnel has used up its allowance. */
  #spend(tunnel: Tunnel, now: number): boolean {
    const account = this.#accounts.get(tunnel)!;
    const passed = now - account.lastMs;
    account.lastMs = now;
    if (this.#table.isShared) account.leftMs -= passed;
    return account.leftMs <= 0;
  }
}

/** Memory that all tunnels of a process share: credit beyond the first window, and bytes queued for slow readers. */
import type { Tunnel } from "./tunnel.js";

export const DEFAULT_LIMITS: MemoryLimits = {
  tunnelQueueBytes: 4 * 1024 * 1024,
  processQueueBytes: 256 * 1024 * 1024,
  creditBudgetBytes: 128 * 1024 * 1024,
};

export class Budget {
  readonly limits: MemoryLimits;
  /** Last known queue of each tunnel whose far side knows no window. */
  readonly #queues = new Map<Tunnel, number>();
  queuedBytes = 0;
  /** Credit handed out beyond the first windows. */
  creditTaken = 0;

  constructor(limits: MemoryLimits = DEFAULT_LIMITS) {
    this.limits = limits;
  }

  takeCredit(bytes: number): boolean {
    if (this.creditTaken + bytes > this.limits.creditBudgetBytes) return false;
    this.creditTaken += bytes;
    return true;
  }

  returnCredit(bytes: number): void {
    this.creditTaken -= bytes;
  }

  /** Records what a tunnel has queued now; 0 forgets it. */
  setQueued(tunnel: Tunnel, bytes: number): void {
    this.queuedBytes += bytes - (this.#queues.get(tunnel) ?? 0);
    if (bytes === 0) this.#queues.delete(tunnel);
    else this.#queues.set(tunnel, bytes);
  }

  /** Recorded figures may be stale, so every tunnel is asked again before the bound counts as exceeded. */
  overfull(): boolean {
    if (this.queuedBytes <= this.limits.processQueueBytes) return false;
    for (const tunnel of [...this.#queues.keys()]) this.setQueued(tunnel, tunnel.port.queuedBytes);
    return this.queuedBytes > this.limits.processQueueBytes;
  }

  /** Holds back whoever has the most waiting and is not held back yet. */
  relieve(): void {
    let best: Tunnel | undefined;
    let most = 0;
    for (const [tunnel, bytes] of this.#queues) {
      if (bytes > most && !tunnel.overflowing) {
        most = bytes;
        best = tunnel;
      }
    }
    best?.overflow();
  }
}

/** Bounds that hold for the whole process; see docs/architecture.md. */
export interface MemoryLimits {
  /** Bytes that may wait for one slow reader whose far side knows no window. */
  readonly tunnelQueueBytes: number;
  /** The same, summed over all tunnels. */
  readonly processQueueBytes: number;
  /** Credit handed out beyond each tunnel's first window, summed over all tunnels. */
  readonly creditBudgetBytes: number;
}

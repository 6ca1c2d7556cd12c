/** What server and agent are both told. */

/** Bounds that hold for the whole process; see docs/architecture.md. */
export interface MemoryLimits {
  /** Bytes that may wait for one slow reader whose far side knows no window. */
  readonly tunnelQueueBytes: number;
  /** The same, summed over all tunnels. */
  readonly processQueueBytes: number;
  /** Credit handed out beyond each tunnel's first window, summed over all tunnels. */
  readonly creditBudgetBytes: number;
}

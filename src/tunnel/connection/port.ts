/** The near end of a tunnel: a caller's socket, a gRPC caller's stream, or the endpoint's socket. */
export interface Port {
  /** Bytes accepted by write() that the near party has not been handed yet. */
  readonly queuedBytes: number;
  /** Whether the near party can be told "no more bytes" while it may still send. */
  readonly canHalfClose: boolean;

  /** Starts telling `near` what happens; from here on bytes may arrive. */
  attach(near: NearEvents): void;
  /** Queues bytes; they may wait for flush(). */
  write(chunk: Buffer): void;
  /** Lets everything written in this turn go, in one piece. */
  flush(): void;
  pause(): void;
  resume(): void;
  /** No more bytes after those queued; the other direction stays open. */
  end(): void;
  /** Delivers what is queued, then closes both directions. Bounded in time. */
  close(): void;
  /** Closes both directions now. */
  destroy(): void;
}

/** What a port reports. */
export interface NearEvents {
  /** `chunk` may be reused after the call. */
  onNearData(chunk: Uint8Array): void;
  onNearEnd(): void;
  /** The near party is gone, both directions. */
  onNearLost(reason: string): void;
  /** The port's queue ran empty after it had been too full. */
  onNearDrained(): void;
}

import type { NearEvents, Port } from "../tunnel.js";

/** A near party whose reader a test steers: bytes wait in `queue` until `take` is called. */
export class FakePort implements Port {
  queuedBytes = 0;
  canHalfClose = true;
  near: NearEvents | undefined;
  paused = false;
  /** What was done to it, in order; runs of the same thing once. */
  readonly log: string[] = [];

  attach(near: NearEvents): void {
    this.near = near;
  }

  write(chunk: Buffer): void {
    this.queuedBytes += chunk.length;
  }

  flush(): void {}

  pause(): void {
    this.paused = true;
    this.log.push("pause");
  }

  resume(): void {
    this.paused = false;
    this.log.push("resume");
  }

  end(): void {
    this.log.push("end");
  }

  close(): void {
    this.log.push("close");
  }

  destroy(): void {
    this.log.push("destroy");
  }

  cut(_reason: string, now: boolean): void {
    this.log.push(now ? "drop" : "cut");
  }

  /** The reader takes bytes; like a socket, it says so when nothing waits any more. */
  take(bytes = this.queuedBytes): void {
    this.queuedBytes -= Math.min(bytes, this.queuedBytes);
    if (this.queuedBytes === 0) this.near?.onNearDrained();
  }
}

/** One reader of the event stream: a snapshot in portions, then changes, for as long as it keeps up. */
import type { ServerResponse } from "node:http";
import { safeJson } from "../../../base/text.js";
import type { StreamEvents } from "./contract.js";

export interface ReaderLimits {
  /** Unsent bytes beyond which changes are left out for this reader. */
  readonly unsentBytes: number;
  /** How long a reader that fell behind may take to read all there is for it. */
  readonly patienceMs: number;
}

export const READER_LIMITS: ReaderLimits = { unsentBytes: 1024 * 1024, patienceMs: 30_000 };

/** What every reader gets first, and again when it has missed changes. */
export interface SnapshotSource {
  snapshot(): StreamEvents["snapshot"];
  /** The tunnels; each portion is made when it is asked for. */
  portions(): Iterator<StreamEvents["tunnels"]>;
}

const HEAD = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  // For proxies that would gather the stream.
  "X-Accel-Buffering": "no",
};

export class Reader {
  readonly #response: ServerResponse;
  readonly #source: SnapshotSource;
  readonly #limits: ReaderLimits;
  readonly #now: () => number;
  #skipped = 0;
  /** Since when it has not taken everything it was sent. */
  #behindSince: number | undefined;
  /** Portions of the snapshot that are still to come. */
  #rest: Iterator<StreamEvents["tunnels"]> | undefined;
  #portionDue = false;

  constructor(response: ServerResponse, source: SnapshotSource, limits: ReaderLimits, now: () => number) {
    this.#response = response;
    this.#source = source;
    this.#limits = limits;
    this.#now = now;
    response.on("drain", this.#onDrain);
    response.socket?.setNoDelay(true);
    // A reader whose machine is gone gives no sign; the kernel finds out.
    response.socket?.setKeepAlive(true, limits.patienceMs);
    response.writeHead(200, HEAD);
    this.#begin();
  }

  /** A frame that all readers get; one that has fallen behind does not get it. */
  send(frame: string): void {
    // Whoever keeps up gets any frame; only after a write that was too much there will be a drain to go on from.
    const keepsUp = this.#behindSince === undefined;
    const fits = keepsUp || this.#response.writableLength + frame.length <= this.#limits.unsentBytes;
    if (fits && this.#skipped === 0) this.#write(frame);
    else this.#skipped++;
  }

  /** Whether it is to be given up. Asked now and then. */
  get isDead(): boolean {
    return this.#behindSince !== undefined && this.#now() - this.#behindSince > this.#limits.patienceMs;
  }

  destroy(): void {
    this.#rest = undefined;
    this.#response.destroy();
  }

  #begin(): void {
    this.#write(eventFrame("snapshot", this.#source.snapshot()));
    this.#rest = this.#source.portions();
    this.#continueSoon();
  }

  /** One portion a turn, and none while the last ones wait: tunnels come first, and so does memory. */
  #continueSoon(): void {
    if (this.#portionDue || this.#rest === undefined || this.#behindSince !== undefined) return;
    this.#portionDue = true;
    setImmediate(() => {
      this.#portionDue = false;
      if (this.#response.destroyed || this.#rest === undefined) return;
      const portion = this.#rest.next();
      if (portion.done === true) this.#rest = undefined;
      else this.#write(eventFrame("tunnels", portion.value));
      this.#continueSoon();
    });
  }

  readonly #onDrain = (): void => {
    this.#behindSince = undefined;
    if (this.#skipped > 0) {
      this.#write(eventFrame("lost", { skipped: this.#skipped }));
      this.#skipped = 0;
      this.#begin();
    } else this.#continueSoon();
  };

  #write(frame: string): void {
    if (this.#response.destroyed) return;
    if (!this.#response.write(frame)) this.#behindSince ??= this.#now();
  }
}

export function eventFrame<Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): string {
  return `event: ${name}\ndata: ${safeJson(data)}\n\n`;
}

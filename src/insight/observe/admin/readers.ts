/** The readers of the event stream. While there are none, there is no timer and nothing is compared. */
import type { ServerResponse } from "node:http";
import { safeJson } from "../../../base/text.js";
import { Differ } from "./changes.js";
import type { ChangeEvent } from "./contract.js";
import type { AdminModel } from "./model.js";

export const MAX_READERS = 16;

const HEARTBEAT_MS = 15_000;

const DEFAULTS = {
  /** Looks for changes this often; the eye does not follow more. */
  lookMs: 500,
  /** Unsent bytes beyond which changes are left out for a reader. */
  unsentBytes: 1024 * 1024,
  /** How long a reader that fell behind may take to read all there is for it. */
  patienceMs: 30_000,
  now: () => performance.now(),
};

export type ReadersOptions = Partial<typeof DEFAULTS>;

export class Readers {
  readonly #model: AdminModel;
  readonly #options: typeof DEFAULTS;
  readonly #readers = new Set<Reader>();
  #differ: Differ | undefined;
  /** The comparison under way. */
  #looking: ReturnType<Differ["look"]> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastFrameAt = 0;

  constructor(model: AdminModel, options: ReadersOptions = {}) {
    this.#model = model;
    this.#options = { ...DEFAULTS, ...options };
  }

  get size(): number {
    return this.#readers.size;
  }

  get full(): boolean {
    return this.#readers.size >= MAX_READERS;
  }

  /** Takes the response over. */
  add(response: ServerResponse): void {
    // It left while it was being admitted: nothing would ever take it out again.
    if (response.destroyed) return;
    const isFirst = this.#differ === undefined;
    this.#differ ??= new Differ(this.#model);
    const reader = new Reader(response, this.#differ, this.#options);
    this.#readers.add(reader);
    response.once("close", () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#rest();
    });
    if (!isFirst) return;
    this.#timer = setInterval(() => this.#look(), this.#options.lookMs).unref();
    this.#look();
  }

  close(): void {
    for (const reader of this.#readers) reader.destroy();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#differ = undefined;
    this.#looking = undefined;
  }

  #look(): void {
    for (const reader of this.#readers) if (reader.isDead) reader.destroy();
    if (this.#looking !== undefined || this.#differ === undefined) return;
    this.#looking = this.#differ.look();
    this.#lookOn(this.#looking);
  }

  /** One step a turn. */
  #lookOn(looking: ReturnType<Differ["look"]>): void {
    if (this.#looking !== looking) return;
    const { done, value: change } = looking.next();
    if (change) this.#sendAll(eventFrame("change", change));
    if (done !== true) {
      setImmediate(() => this.#lookOn(looking));
      return;
    }
    this.#looking = undefined;
    if (this.#options.now() - this.#lastFrameAt >= HEARTBEAT_MS) this.#sendAll(eventFrame("alive", { at: Date.now() }));
  }

  #sendAll(frame: string): void {
    this.#lastFrameAt = this.#options.now();
    for (const reader of this.#readers) reader.send(frame);
  }
}

const HEAD = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  // For proxies that would gather the stream.
  "X-Accel-Buffering": "no",
};

/** One reader: a snapshot, the tunnels in portions, then changes, for as long as it keeps up. */
class Reader {
  readonly #response: ServerResponse;
  readonly #options: typeof DEFAULTS;
  readonly #differ: Differ;
  /** It has missed changes, and gets a new snapshot when it has read everything. */
  #isLost = false;
  /** Since when it has not taken everything it was sent. */
  #behindSince: number | undefined;
  /** Tunnels of the snapshot that are still to come. */
  #rest: Iterator<ChangeEvent> | undefined;
  #portionDue = false;

  constructor(response: ServerResponse, differ: Differ, options: typeof DEFAULTS) {
    this.#response = response;
    this.#differ = differ;
    this.#options = options;
    response.on("drain", this.#onDrain);
    response.socket?.setNoDelay(true);
    // A reader whose machine is gone gives no sign; the kernel finds out.
    response.socket?.setKeepAlive(true, options.patienceMs);
    response.writeHead(200, HEAD);
    this.#begin();
  }

  /** A frame that all readers get; one that has fallen behind does not get it. */
  send(frame: string): void {
    // Whoever keeps up gets any frame; only after a write that was too much there will be a drain to go on from.
    const keepsUp = this.#behindSince === undefined;
    const fits = keepsUp || this.#response.writableLength + frame.length <= this.#options.unsentBytes;
    if (fits && !this.#isLost) this.#write(frame);
    else this.#isLost = true;
  }

  /** Whether it is to be given up. Asked now and then. */
  get isDead(): boolean {
    return this.#behindSince !== undefined && this.#options.now() - this.#behindSince > this.#options.patienceMs;
  }

  destroy(): void {
    this.#response.destroy();
  }

  /** Sends all that the others know. */
  #begin(): void {
    this.#isLost = false;
    this.#write(eventFrame("snapshot", this.#differ.snapshot));
    this.#rest = this.#differ.portions();
    this.#continueSoon();
  }

  /** One portion a turn, and none while the last ones wait: tunnels come first, and so does memory. */
  #continueSoon(): void {
    if (this.#portionDue || this.#rest === undefined || this.#behindSince !== undefined) return;
    this.#portionDue = true;
    setImmediate(() => {
      this.#portionDue = false;
      const portion = this.#rest?.next();
      if (portion?.done === false) this.#write(eventFrame("change", portion.value));
      else this.#rest = undefined;
      this.#continueSoon();
    });
  }

  readonly #onDrain = (): void => {
    this.#behindSince = undefined;
    if (this.#isLost) this.#begin();
    else this.#continueSoon();
  };

  #write(frame: string): void {
    if (this.#response.destroyed) this.#rest = undefined;
    else if (!this.#response.write(frame)) this.#behindSince ??= this.#options.now();
  }
}

export function eventFrame(name: "snapshot" | "change" | "alive", data: object): string {
  return `event: ${name}\ndata: ${safeJson(data)}\n\n`;
}

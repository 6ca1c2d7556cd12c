/** All readers of the event stream. While there are none, there is no timer and nothing is compared. */
import type { ServerResponse } from "node:http";
import { Differ } from "./changes.js";
import type { SnapshotEvent, TunnelRow, TunnelsEvent } from "./contract.js";
import type { AdminModel } from "./model.js";
import { eventFrame, READER_LIMITS, Reader, type ReaderLimits } from "./reader.js";

export const MAX_READERS = 16;

/** Looks for changes this often; the eye does not follow more. */
const LOOK_MS = 500;
const HEARTBEAT_MS = 15_000;
/** So many tunnels are made into text in one turn: some tenths of a millisecond. */
const PORTION = 200;
const RECENTLY_ENDED = 100;

type Look = ReturnType<Differ["look"]>;

export interface ReadersOptions {
  readonly limits?: ReaderLimits;
  readonly lookMs?: number;
  readonly now?: () => number;
}

export class Readers {
  readonly #model: AdminModel;
  readonly #limits: ReaderLimits;
  readonly #lookMs: number;
  readonly #now: () => number;
  readonly #readers = new Set<Reader>();
  /** Those that come in with the next change. */
  readonly #joining: ServerResponse[] = [];
  #looking: Look | undefined;
  #watching: { readonly differ: Differ; readonly timer: NodeJS.Timeout } | undefined;
  #lastFrameAt = 0;

  constructor(model: AdminModel, options: ReadersOptions = {}) {
    this.#model = model;
    this.#limits = options.limits ?? READER_LIMITS;
    this.#lookMs = options.lookMs ?? LOOK_MS;
    this.#now = options.now ?? (() => performance.now());
  }

  get size(): number {
    return this.#readers.size;
  }

  get full(): boolean {
    return this.#readers.size + this.#joining.length >= MAX_READERS;
  }

  /** Takes the response over. */
  add(response: ServerResponse): void {
    if (this.#readers.size === 0) {
      this.#join(response);
      return;
    }
    // The others first get the changes that the new reader's snapshot includes, so that all continue from the same state.
    this.#joining.push(response);
    this.#look();
  }

  close(): void {
    for (const response of this.#joining.splice(0)) response.destroy();
    for (const reader of this.#readers) reader.destroy();
  }

  #join(response: ServerResponse): void {
    if (response.destroyed) return;
    const differ = this.#watch();
    const source = { snapshot: () => this.#snapshot(), portions: () => this.#portions(differ) };
    const reader = new Reader(response, source, this.#limits, this.#now);
    this.#readers.add(reader);
    response.once("close", () => {
      reader.destroy();
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#rest();
    });
  }

  #watch(): Differ {
    this.#watching ??= {
      differ: new Differ(this.#model),
      timer: setInterval(() => this.#look(), this.#lookMs).unref(),
    };
    return this.#watching.differ;
  }

  #rest(): void {
    clearInterval(this.#watching?.timer);
    this.#watching = undefined;
    this.#looking = undefined;
    for (const response of this.#joining.splice(0)) this.#join(response);
  }

  #look(): void {
    for (const reader of this.#readers) if (reader.isDead) reader.destroy();
    if (this.#looking !== undefined || this.#watching === undefined) return;
    this.#looking = this.#watching.differ.look();
    this.#lookOn(this.#looking);
  }

  /** One step a turn. */
  #lookOn(looking: Look): void {
    if (this.#looking !== looking) return;
    const step = looking.next();
    if (step.done !== true) {
      setImmediate(() => this.#lookOn(looking));
      return;
    }
    this.#looking = undefined;
    if (step.value !== undefined) this.#sendAll(eventFrame("change", step.value));
    else if (this.#now() - this.#lastFrameAt >= HEARTBEAT_MS) this.#sendAll(eventFrame("alive", { at: Date.now() }));
    for (const response of this.#joining.splice(0)) this.#join(response);
  }

  #sendAll(frame: string): void {
    this.#lastFrameAt = this.#now();
    for (const reader of this.#readers) reader.send(frame);
  }

  #snapshot(): SnapshotEvent {
    return {
      ...this.#model.overview(),
      tunnelCount: this.#model.totals().tunnelsOpen,
      ended: this.#model.ended.since(0, RECENTLY_ENDED),
    };
  }

  *#portions(differ: Differ): Generator<TunnelsEvent> {
    let portion: TunnelRow[] = [];
    for (const live of this.#model.subject.tunnels?.() ?? []) {
      if (portion.length === PORTION) {
        yield { tunnels: portion, more: true };
        portion = [];
      }
      portion.push(differ.rowOf(live, this.#readers.size > 1));
    }
    yield { tunnels: portion, more: false };
  }
}

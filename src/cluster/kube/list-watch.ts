import { type Clock, pause, systemClock } from "../../base/clock.js";
import type { Runtime } from "../../base/runtime.js";
import { isGone, KubeApiError } from "./errors.js";
import type { KubeApi, KubeObject } from "./port.js";

/** One request to a collection: HTTP status (0: no answer), how long it took, the API's reason for a failure. */
export type RequestObserver = (
  verb: "list" | "watch" | "delete",
  status: number,
  seconds: number,
  reason: string,
) => void;

/** Makes the request and reports how it ended, unless the signal ended it. */
export async function observed<T>(
  verb: "list" | "delete",
  { clock, signal, onRequest }: { clock: Clock; signal: AbortSignal; onRequest: RequestObserver | undefined },
  call: () => Promise<T>,
): Promise<T> {
  const began = clock.now();
  const report = (status: number, reason: string) => onRequest?.(verb, status, (clock.now() - began) / 1000, reason);
  try {
    const result = await call();
    report(200, "");
    return result;
  } catch (reason) {
    const { status, reason: why } = reason instanceof KubeApiError ? reason : { status: 0, reason: "" };
    if (!signal.aborted) report(status, why);
    throw reason;
  }
}

/** Of a runtime the chance is used, too. */
type ChanceClock = Clock & Partial<Pick<Runtime, "random">>;

export interface ListWatchOptions<T> {
  /** One that still has to be opened is tried until that succeeds, and closed at the end. */
  readonly api: KubeApi | (() => Promise<KubeApi>);
  readonly path: string;
  /** Applied by the API server: what does not match is never sent. */
  readonly labelSelector?: string;
  /** See WatchOptions. */
  readonly silenceMs?: number;
  readonly clock?: ChanceClock;
  /** After the first list, and whenever the cache changed. */
  readonly onChange?: (items: ReadonlyMap<string, T>) => void;
  /** Called for every failure; the loop continues by itself. */
  readonly onError?: (reason: unknown) => void;
  /** Called for each list, and for each watch as soon as it was accepted or refused. */
  readonly onRequest?: RequestObserver;
}

const FIRST_DELAY_MS = 800;
const LONGEST_DELAY_MS = 30_000;
/** A watch that ends sooner counts as failed. */
const SHORT_WATCH_MS = 1000;

/** Keeps a copy of what the API server has: lists, watches, and starts again whenever that breaks. */
export class ListWatch<T extends KubeObject> {
  readonly #options: ListWatchOptions<T>;
  readonly #clock: ChanceClock;
  readonly #items = new Map<string, T>();
  readonly #stopped = new AbortController();
  #opened: KubeApi | undefined;
  #running: Promise<void> | undefined;
  #synced = false;
  #version = "";
  /** Whether a list may be answered from the API server's cache, which it may not after the cache proved stale. */
  #listVersion = "0";
  #failures = 0;

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** By `namespace/name`. */
  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** Whether any list has succeeded. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Returns at once; failures go to `onError`. */
  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    this.#opened?.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        const api = await this.#open();
        await this.#list(api);
        for (;;) {
          const lasted = await this.#watch(api);
          if (signal.aborted) return;
          if (lasted < SHORT_WATCH_MS) await this.#backOff();
        }
      } catch (reason) {
        if (signal.aborted) return;
        if (isGone(reason)) {
          // Not a failure: the API server no longer has our version in its cache.
          this.#listVersion = "";
          if (this.#failures++ === 0) continue;
        } else {
          this.#options.onError?.(reason);
        }
        await this.#backOff();
      }
    }
  }

  async #open(): Promise<KubeApi> {
    const { api } = this.#options;
    if (typeof api !== "function") return api;
    this.#opened ??= await api();
    return this.#opened;
  }

  async #list(api: KubeApi): Promise<void> {
    const { labelSelector = "", onChange, onRequest, path } = this.#options;
    const { signal } = this.#stopped;
    const list = await observed("list", { clock: this.#clock, signal, onRequest }, () =>
      api.list<T>(path, { labelSelector, resourceVersion: this.#listVersion, signal }),
    );
    this.#version = list.metadata?.resourceVersion ?? "";
    this.#listVersion = "0";
    this.#items.clear();
    for (const item of list.items) this.#items.set(keyOf(item), item);
    this.#synced = true;
    onChange?.(this.#items);
  }

  /** Returns how long the watch lasted, in milliseconds. */
  async #watch(api: KubeApi): Promise<number> {
    const { labelSelector = "", onChange, onRequest, path, silenceMs } = this.#options;
    const { signal } = this.#stopped;
    const began = this.#clock.now();
    let open = false;
    try {
      const events = api.watch<T>(path, {
        ...{ labelSelector, resourceVersion: this.#version, signal },
        ...(silenceMs === undefined ? {} : { silenceMs }),
        onOpen: () => {
          open = true;
          onRequest?.("watch", 200, 0, "");
        },
      });
      for await (const { type, object } of events) {
        this.#version = object.metadata?.resourceVersion ?? this.#version;
        if (type === "BOOKMARK") continue;
        if (type === "DELETED") this.#items.delete(keyOf(object));
        else this.#items.set(keyOf(object), object);
        onChange?.(this.#items);
      }
    } catch (reason) {
      if (!open && !signal.aborted && reason instanceof KubeApiError)
        onRequest?.("watch", reason.status, 0, reason.reason);
      throw reason;
    } finally {
      if (open && this.#clock.now() - began >= SHORT_WATCH_MS) this.#failures = 0;
    }
    return this.#clock.now() - began;
  }

  async #backOff(): Promise<void> {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures++);
    // Spread by up to a half, or a thousand agents return in step after an outage.
    await pause(this.#clock, delay * (1 + (this.#clock.random?.() ?? Math.random()) / 2), this.#stopped.signal);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

import { type Clock, pause, systemClock } from "../../base/clock.js";
import { isGone, KubeApiError } from "./errors.js";
import type { KubeApi, KubeObject } from "./port.js";

export interface ListWatchOptions<T> {
  readonly api: KubeApi;
  readonly path: string;
  /** Applied by the API server: what does not match is never sent. */
  readonly labelSelector?: string;
  /** See WatchOptions. */
  readonly silenceMs?: number;
  readonly clock?: Clock;
  /** After the first list, and whenever the cache changed. */
  readonly onChange?: (items: ReadonlyMap<string, T>) => void;
  /** Called for every failure; the loop continues by itself. */
  readonly onError?: (reason: unknown) => void;
  /** One list request: HTTP status (0: no answer), how long it took, the API's reason for a failure. */
  readonly onListed?: (status: number, seconds: number, reason: string) => void;
  /** One watch request, as soon as it was accepted or refused. */
  readonly onWatched?: (status: number, reason: string) => void;
}

const FIRST_DELAY_MS = 800;
const LONGEST_DELAY_MS = 30_000;
/** A watch that ends sooner counts as failed. */
const SHORT_WATCH_MS = 1000;

/** Keeps a copy of what the API server has: lists, watches, and starts again whenever that breaks. */
export class ListWatch<T extends KubeObject> {
  readonly #options: ListWatchOptions<T>;
  readonly #clock: Clock;
  readonly #items = new Map<string, T>();
  readonly #stopped = new AbortController();
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
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#list();
        for (;;) {
          const lasted = await this.#watch();
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

  async #list(): Promise<void> {
    const { api, path, labelSelector } = this.#options;
    const began = this.#clock.now();
    const seconds = () => (this.#clock.now() - began) / 1000;
    try {
      const list = await api.list<T>(path, {
        ...(labelSelector === undefined ? {} : { labelSelector }),
        resourceVersion: this.#listVersion,
        signal: this.#stopped.signal,
      });
      this.#options.onListed?.(200, seconds(), "");
      this.#version = list.metadata?.resourceVersion ?? "";
      this.#listVersion = "0";
      this.#items.clear();
      for (const item of list.items) this.#items.set(keyOf(item), item);
      this.#synced = true;
    } catch (reason) {
      if (!this.#stopped.signal.aborted && reason instanceof KubeApiError) {
        this.#options.onListed?.(reason.status, seconds(), reason.reason);
      }
      throw reason;
    }
    this.#options.onChange?.(this.#items);
  }

  /** Returns how long the watch lasted, in milliseconds. */
  async #watch(): Promise<number> {
    const { api, path, labelSelector, silenceMs } = this.#options;
    const began = this.#clock.now();
    let open = false;
    try {
      const events = api.watch<T>(path, {
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(silenceMs === undefined ? {} : { silenceMs }),
        resourceVersion: this.#version,
        signal: this.#stopped.signal,
        onOpen: () => {
          open = true;
          this.#options.onWatched?.(200, "");
        },
      });
      for await (const { type, object } of events) {
        this.#version = object.metadata?.resourceVersion ?? this.#version;
        if (type === "BOOKMARK") continue;
        if (type === "DELETED") this.#items.delete(keyOf(object));
        else this.#items.set(keyOf(object), object);
        this.#options.onChange?.(this.#items);
      }
    } catch (reason) {
      if (!open && !this.#stopped.signal.aborted && reason instanceof KubeApiError) {
        this.#options.onWatched?.(reason.status, reason.reason);
      }
      throw reason;
    } finally {
      if (open && this.#clock.now() - began >= SHORT_WATCH_MS) this.#failures = 0;
    }
    return this.#clock.now() - began;
  }

  async #backOff(): Promise<void> {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#failures++);
    // Spread by up to a half, or a thousand agents return in step after an outage.
    await pause(this.#clock, delay * (1 + Math.random() / 2), this.#stopped.signal);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

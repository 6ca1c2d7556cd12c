/** What a resolver said, remembered for as long as it may be; one question at a time for each name. */
import { step } from "../../client/errors.js";
import type { CacheConfig } from "./config.js";

export interface Answer {
  /** Empty: the name has none. */
  readonly addresses: readonly string[];
  /** For how long this may be believed; undefined: it did not say. */
  readonly ttlMs: number | undefined;
}

/** Rejects when it cannot tell, which is never remembered. */
export type Ask = (name: string, stop: AbortSignal) => Promise<Answer>;

export interface AnswerCacheOptions {
  readonly cache: CacheConfig;
  readonly now: () => number;
  /** For one question, whoever waits for it. */
  readonly timeoutMs: number;
}

export class AnswerCache {
  readonly #ask: Ask;
  readonly #options: AnswerCacheOptions;
  /** Least recently used first. */
  readonly #known = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>();
  readonly #asking = new Map<string, Promise<readonly string[]>>();

  constructor(ask: Ask, options: AnswerCacheOptions) {
    this.#ask = ask;
    this.#options = options;
  }

  /** `fresh` passes over what is remembered. Stopping one caller does not stop the others that wait for the same name. */
  async find(name: string, stop: AbortSignal, fresh = false): Promise<readonly string[]> {
    stop.throwIfAborted();
    const key = name.toLowerCase();
    const known = fresh ? undefined : this.#recall(key);
    if (known !== undefined) return known;
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#question(key).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    const shared = asking;
    return await step<readonly string[]>(stop, (resolve, reject) => {
      shared.then(resolve, reject);
      return () => {};
    });
  }

  forget(name: string): void {
    this.#known.delete(name.toLowerCase());
  }

  #recall(key: string): readonly string[] | undefined {
    const entry = this.#known.get(key);
    if (entry === undefined) return undefined;
    this.#known.delete(key);
    if (entry.until <= this.#options.now()) return undefined;
    this.#known.set(key, entry);
    return entry.addresses;
  }

  async #question(key: string): Promise<readonly string[]> {
    const { timeoutMs } = this.#options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    try {
      const answer = await step<Answer>(limit.signal, (resolve, reject) => {
        this.#ask(key, limit.signal).then(resolve, reject);
        return () => {};
      });
      this.#remember(key, answer);
      return answer.addresses;
    } finally {
      clearTimeout(timer);
    }
  }

  #remember(key: string, { addresses, ttlMs }: Answer): void {
    const { cache, now } = this.#options;
    const wanted = ttlMs ?? cache.defaultMs;
    const lifeMs = Math.min(wanted, cache.maxMs, addresses.length === 0 ? cache.negativeMs : Number.POSITIVE_INFINITY);
    this.#known.delete(key);
    if (lifeMs <= 0 || cache.entries <= 0) return;
    this.#known.set(key, { addresses, until: now() + lifeMs });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= cache.entries) break;
      this.#known.delete(oldest);
    }
  }
}

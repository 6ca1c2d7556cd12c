/** Resolves names to addresses: one resolver after the other, and the fallback when the tunnel cannot be used. */
import { isIPv4 } from "node:net";
import { systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { step } from "../../outgoing/connected.js";
import { Resolver } from "../../resolver/resolver.js";
import type { ResolverName } from "../config.js";
import { type Attempt, unresolvedError } from "./errors.js";

/**
 * The addresses of a name; or `agent`: the agent resolves it; or `direct`: this host alone knows the name, or it alone can
 * be asked, so it dials directly.
 */
export type Resolved = readonly string[] | "agent" | "direct";

export interface NameResolverOptions {
  readonly order: readonly ResolverName[];
  readonly preferIpv4: boolean;
  /** One for each resolver of the order, and `local` when there is a fallback. */
  readonly caches: Readonly<Partial<Record<ResolverName, AnswerCache>>>;
  /** Undefined: a tunnel that fails is a failure. */
  readonly fallback: FallbackState | undefined;
}

export class NameResolver {
  readonly #options: NameResolverOptions;

  constructor(options: NameResolverOptions) {
    this.#options = options;
  }

  /** Rejects with a RouteError when nobody knows the name, or with the reason of `stop`. */
  async resolve(name: string, stop: AbortSignal): Promise<Resolved> {
    const attempts: Attempt[] = [];
    const { order, fallback } = this.#options;
    for (const resolver of order) {
      if (resolver === "agent") return "agent";
      const found =
        resolver === "cluster-dns" && fallback !== undefined
          ? await this.#queryWithFallback(name, fallback, stop)
          : await this.#query(resolver, name, stop);
      if (found === "direct" || !("failure" in found)) return found;
      attempts.push(found);
    }
    throw unresolvedError(name, attempts);
  }

  /** Drops cached answers of the name, since no address could be reached. */
  forget(name: string): void {
    for (const cache of Object.values(this.#options.caches)) cache.forget(name);
  }

  async #query(resolver: ResolverName, name: string, stop: AbortSignal, fresh = false) {
    const { caches, preferIpv4 } = this.#options;
    try {
      const addresses = (await caches[resolver]?.find(name, stop, fresh)) ?? [];
      if (addresses.length === 0) return { resolver, failure: undefined };
      const ipv4 = preferIpv4 ? addresses.filter((address) => isIPv4(address)) : [];
      return ipv4.length === 0 ? addresses : ipv4;
    } catch (failure) {
      stop.throwIfAborted();
      return { resolver, failure };
    }
  }

  async #queryWithFallback(name: string, fallback: FallbackState, stop: AbortSignal) {
    const end = fallback.tryTunnel();
    if (end === undefined) return "direct";
    try {
      // What is remembered does not show that the tunnel works again.
      const found = await this.#query("cluster-dns", name, stop, fallback.active);
      const answered = !("failure" in found) || found.failure === undefined;
      if (answered) fallback.markSuccess();
      if (!("failure" in found)) return found;
      // Neither knows it: that says nothing about the tunnel.
      if ("failure" in (await this.#query("local", name, stop))) return found;
      // The cluster's DNS answered that there is no such name: only this name is this host's, the tunnel is fine.
      if (!answered) fallback.markFailure(`the cluster's DNS cannot be asked: ${messageOf(found.failure)}`);
      return "direct";
    } finally {
      end();
    }
  }
}

export interface ResolverAnswer {
  /** Empty: the name has none. */
  readonly addresses: readonly string[];
  /** For how long this may be believed; undefined: it did not say. */
  readonly ttlMs: number | undefined;
}

/** Rejects when there is no answer, which is never cached. */
export type ResolverQuery = (name: string, stop: AbortSignal) => Promise<ResolverAnswer>;

/** For how long answers are believed, and how many: an answer's own time to live counts up to `maxMs`. */
export const ANSWER_LIFE = {
  entries: 1024,
  maxMs: 300_000,
  /** For answers that name no time of their own. */
  defaultMs: 30_000,
  /** For names that do not exist, at most. */
  negativeMs: 10_000,
};

export interface AnswerCacheOptions extends Readonly<typeof ANSWER_LIFE> {
  readonly now: () => number;
  /** For one question, whoever waits for it. */
  readonly timeoutMs: number;
}

/** Answers of one resolver, kept for their time to live; each name has one query at a time. */
export class AnswerCache {
  readonly #query: ResolverQuery;
  readonly #options: AnswerCacheOptions;
  /** Least recently used first. */
  readonly #known = new Map<string, { readonly addresses: readonly string[]; readonly until: number }>();
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(query: ResolverQuery, options: AnswerCacheOptions) {
    this.#query = query;
    this.#options = options;
  }

  /** `fresh` passes over what is remembered. Stopping one caller does not stop the others that wait for the same name. */
  async find(name: string, stop: AbortSignal, fresh = false): Promise<readonly string[]> {
    stop.throwIfAborted();
    const key = name.toLowerCase();
    const known = fresh ? undefined : this.#recall(key);
    if (known !== undefined) return known;
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#ask(key).finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return await unlessStopped(pending, stop);
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

  async #ask(key: string): Promise<readonly string[]> {
    const { timeoutMs } = this.#options;
    const late = new AbortController();
    const cancel = systemClock.after(timeoutMs, () => late.abort());
    try {
      const answer = await unlessStopped(this.#query(key, late.signal), late.signal);
      this.#remember(key, answer);
      return answer.addresses;
    } catch (reason) {
      throw late.signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : reason;
    } finally {
      cancel();
    }
  }

  #remember(key: string, { addresses, ttlMs }: ResolverAnswer): void {
    const { entries, maxMs, defaultMs, negativeMs, now } = this.#options;
    const lifeMs = Math.min(ttlMs ?? defaultMs, maxMs, addresses.length === 0 ? negativeMs : maxMs);
    this.#known.delete(key);
    if (lifeMs <= 0) return;
    this.#known.set(key, { addresses, until: now() + lifeMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > entries) this.#known.delete(oldest!);
  }
}

/** Rejects with the reason of `stop` when that comes first. */
function unlessStopped<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
  return step(stop, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => {};
  });
}

/** How long until a tunnel that failed is tried again. */
const RETRY_MS = 30_000;

/** Whether the tunnel is believed to work. While it is not, one caller at a time may try it, at most every RETRY_MS. */
export class FallbackState {
  readonly #now: () => number;
  readonly #onChange: ((active: boolean, why: string) => void) | undefined;
  #active = false;
  #retrying = false;
  #lastRetry: number | undefined;

  constructor(now: () => number, onChange?: (active: boolean, why: string) => void) {
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Targets are dialled directly for now. */
  get active(): boolean {
    return this.#active;
  }

  /**
   * Begins an attempt to use the tunnel. Returns undefined when it failed a short while ago or another caller is trying
   * it; otherwise the function to call when the attempt has ended.
   */
  tryTunnel(): (() => void) | undefined {
    if (!this.#active) return () => {};
    const now = this.#now();
    const soon = this.#lastRetry !== undefined && now - this.#lastRetry < RETRY_MS;
    if (this.#retrying || soon) return undefined;
    this.#retrying = true;
    this.#lastRetry = now;
    return () => {
      this.#retrying = false;
    };
  }

  markSuccess(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#lastRetry = undefined;
    this.#onChange?.(false, "the tunnel answers again");
  }

  markFailure(why: string): void {
    this.#lastRetry ??= this.#now();
    if (this.#active) return;
    this.#active = true;
    this.#onChange?.(true, why);
  }
}

export function queryLocally(lookup?: Resolver["find"]): ResolverQuery {
  const resolver = new Resolver();
  return async (name, stop) => {
    try {
      return { addresses: await (lookup?.(name, stop) ?? resolver.find(name, stop)), ttlMs: undefined };
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTFOUND" || code === "ENODATA") return { addresses: [], ttlMs: undefined };
      throw reason;
    }
  };
}

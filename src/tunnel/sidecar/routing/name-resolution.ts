/** Resolves names to addresses: one resolver after the other, and the fallback when the tunnel cannot be used. */
import { isIPv4 } from "node:net";
import { messageOf } from "../../../base/errors/error.js";
import { Resolver } from "../../resolver/resolver.js";
import type { ResolverName } from "../config.js";
import type { AnswerCache, ResolverQuery } from "./answer-cache.js";
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

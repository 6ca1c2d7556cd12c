/** From a name to addresses: one resolver after the other, and the fallback when the tunnel cannot be asked. */
import { isIPv4 } from "node:net";
import { messageOf } from "../../../base/errors/error.js";
import type { AnswerCache } from "./answer-cache.js";
import type { Resolver } from "./config.js";
import { type Attempt, unresolved } from "./errors.js";
import type { FallbackState } from "./fallback-state.js";

export type Resolved =
  | { readonly kind: "addresses"; readonly addresses: readonly string[] }
  /** The agent resolves it. */
  | { readonly kind: "name" }
  /** This host alone knows the name, or it alone can be asked: go straight from here. */
  | { readonly kind: "here" };

export interface NameResolverOptions {
  readonly order: readonly Resolver[];
  readonly preferIpv4: boolean;
  /** One for each resolver of the order, and `here` when there is a fallback. */
  readonly caches: Readonly<Partial<Record<Resolver, AnswerCache>>>;
  /** Undefined: a tunnel that fails is a failure. */
  readonly fallback: FallbackState | undefined;
}

export class NameResolver {
  readonly #options: NameResolverOptions;

  constructor(options: NameResolverOptions) {
    this.#options = options;
  }

  /** Rejects with a WayError when nobody knows the name, or with the reason of `stop`. */
  async resolve(name: string, stop: AbortSignal): Promise<Resolved> {
    const attempts: Attempt[] = [];
    for (const resolver of this.#options.order) {
      if (resolver === "agent") return { kind: "name" };
      const { fallback } = this.#options;
      const found =
        resolver === "cluster-dns" && fallback !== undefined
          ? await this.#askWithFallback(name, fallback, stop)
          : await this.#ask(resolver, name, stop);
      if (found.kind !== "none") return found;
      attempts.push({ resolver, failure: found.failure });
    }
    throw unresolved(name, attempts);
  }

  /** What was remembered led nowhere. */
  forget(name: string): void {
    for (const cache of Object.values(this.#options.caches)) cache.forget(name);
  }

  async #ask(resolver: Resolver, name: string, stop: AbortSignal, fresh = false): Promise<Resolved | None> {
    try {
      const addresses = (await this.#options.caches[resolver]?.find(name, stop, fresh)) ?? [];
      if (addresses.length === 0) return { kind: "none", failure: undefined };
      return { kind: "addresses", addresses: this.#options.preferIpv4 ? onlyIpv4(addresses) : addresses };
    } catch (failure) {
      stop.throwIfAborted();
      return { kind: "none", failure };
    }
  }

  async #askWithFallback(name: string, fallback: FallbackState, stop: AbortSignal): Promise<Resolved | None> {
    const end = fallback.begin();
    if (end === undefined) return { kind: "here" };
    try {
      // What is remembered does not show that the tunnel works again.
      const found = await this.#ask("cluster-dns", name, stop, fallback.active);
      const answered = found.kind !== "none" || found.failure === undefined;
      if (answered) fallback.markSuccess();
      if (found.kind !== "none") return found;
      const here = await this.#ask("here", name, stop);
      // Neither knows it: that says nothing about the tunnel.
      if (here.kind === "none") return found;
      // The cluster's DNS answered that there is no such name: only this name is this host's, the tunnel is fine.
      if (!answered) fallback.markFailure(`the cluster's DNS cannot be asked: ${messageOf(found.failure)}`);
      return { kind: "here" };
    } finally {
      end();
    }
  }
}

type None = { readonly kind: "none"; readonly failure: unknown };

function onlyIpv4(addresses: readonly string[]): readonly string[] {
  const ipv4 = addresses.filter((address) => isIPv4(address));
  return ipv4.length === 0 ? addresses : ipv4;
}

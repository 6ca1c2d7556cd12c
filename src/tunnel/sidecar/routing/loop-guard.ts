/** Refuses targets that would lead back to us: our own listeners, and the proxy-servers that we go through. */
import ipaddr from "ipaddr.js";
import type { Frontend } from "../../client/frontend.js";
import { addressesOfThisHost } from "../../resolver/resolver.js";
import { canonicalAddress, judgedHost, parseHost } from "../../wire/destination.js";
import { loopError, type Target } from "./errors.js";

export interface LoopGuardOptions {
  readonly own: readonly Target[];
  readonly frontends: readonly Frontend[];
  readonly localAddresses?: () => readonly string[];
  /** Addresses of a proxy-server's name, as this host sees it. */
  readonly lookup: (name: string, stop: AbortSignal) => Promise<readonly string[]>;
}

export class LoopGuard {
  readonly #options: LoopGuardOptions;

  constructor(options: LoopGuardOptions) {
    this.#options = options;
  }

  /** Rejects with a RouteError. Judges the host as it is written: names are judged again once they are resolved. */
  async check(target: Target, stop: AbortSignal): Promise<void> {
    if (this.isOwn(target)) throw loopError(target, "a listener of this sidecar");
    for (const frontend of this.#options.frontends) {
      if ("uds" in frontend || frontend.port !== target.port) continue;
      if (await this.#leadsTo(frontend.host, target.host, stop))
        throw loopError(target, "the proxy-server it goes through");
    }
  }

  isOwn({ host, port }: Target): boolean {
    const { own, localAddresses = addressesOfThisHost } = this.#options;
    const wanted = canonical(host);
    return own.some((listener) => {
      if (listener.port !== port) return false;
      if (!isEverywhere(listener.host)) return wanted === canonical(listener.host);
      return isLoopback(wanted) || localAddresses().some((local) => canonical(local) === wanted);
    });
  }

  async #leadsTo(frontend: string, host: string, stop: AbortSignal): Promise<boolean> {
    const wanted = canonical(host);
    if (wanted === canonical(frontend)) return true;
    if (isAddress(canonical(frontend)) || !isAddress(wanted)) return false;
    try {
      return (await this.#options.lookup(frontend, stop)).some((address) => canonical(address) === wanted);
    } catch {
      stop.throwIfAborted();
      // A proxy-server without an address is not reached by this one either; the dial will say so.
      return false;
    }
  }
}

/** One spelling for each address and name; `localhost` as the address that it always has. */
function canonical(host: string): string {
  const name = judgedHost(parseHost(host)?.text ?? host);
  return name === "localhost" || name.endsWith(".localhost") ? "127.0.0.1" : name;
}

function isAddress(host: string): boolean {
  return canonicalAddress(host) !== undefined;
}

function isLoopback(host: string): boolean {
  return isAddress(host) && ipaddr.parse(host).range() === "loopback";
}

/** A listener at every address of this host. */
function isEverywhere(host: string): boolean {
  return host === "" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "unspecified");
}

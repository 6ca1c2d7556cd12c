/** Connections straight from here, by way of this network's own proxy where one is set. */
import net, { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { step } from "../../client/errors.js";
import { noProxyRules } from "../../wire/no-proxy.js";
import { type Target, WayError } from "../way.js";
import { directError, proxyError } from "./errors.js";
import { firstThatOpens } from "./first-that-opens.js";
import { connectThroughProxy, secureProxy } from "./proxy-chain.js";
import type { HttpProxy } from "./proxy-url.js";
import type { ProxyTrust } from "./trust.js";

export interface DirectDialerOptions {
  readonly proxy: HttpProxy | undefined;
  readonly noProxy: string;
  readonly trust: ProxyTrust;
  readonly connect: (target: Target, stop: AbortSignal) => Promise<Duplex>;
  /** Addresses of a name as this host sees it; empty when there are none. */
  readonly find: (name: string, stop: AbortSignal) => Promise<readonly string[]>;
  /** Rejects for what would be a loop. */
  readonly check: (target: Target, stop: AbortSignal) => Promise<void>;
}

export class DirectDialer {
  readonly #options: DirectDialerOptions;
  readonly #bypasses: (host: string, port: number) => boolean;

  constructor(options: DirectDialerOptions) {
    this.#options = options;
    this.#bypasses = noProxyRules(options.noProxy);
  }

  /** By this network's proxy, unless there is none or NO_PROXY covers the target. */
  async open(target: Target, stop: AbortSignal): Promise<Duplex> {
    const { proxy, trust } = this.#options;
    if (proxy === undefined || this.#bypasses(target.host, target.port)) return await this.openPast(target, stop);
    let stream: Duplex;
    try {
      stream = await this.openPast(proxy, stop);
    } catch (reason) {
      stop.throwIfAborted();
      if (reason instanceof WayError && reason.hindrance === "forbidden") throw reason;
      throw proxyError("path", proxy, `of this network cannot be reached: ${wordsOf(reason)}`, { cause: reason });
    }
    return await connectThroughProxy(await secureProxy(stream, proxy, trust, stop), proxy, target, stop);
  }

  /** Past every proxy. */
  async openPast(target: Target, stop: AbortSignal): Promise<Duplex> {
    const { check, connect } = this.#options;
    await check(target, stop);
    const addresses = await this.#addressesOf(target, stop);
    return await firstThatOpens(addresses, async (host) => {
      const at = { host, port: target.port };
      if (host !== target.host) await check(at, stop);
      try {
        return await connect(at, stop);
      } catch (reason) {
        stop.throwIfAborted();
        throw directError(target, reason);
      }
    });
  }

  async #addressesOf(target: Target, stop: AbortSignal): Promise<readonly string[]> {
    if (isIP(target.host) !== 0) return [target.host];
    let addresses: readonly string[];
    try {
      addresses = await this.#options.find(target.host, stop);
    } catch (reason) {
      stop.throwIfAborted();
      throw directError(target, reason);
    }
    if (addresses.length > 0) return addresses;
    throw directError(target, Object.assign(new Error("the name has no address here"), { code: "ENOTFOUND" }));
  }
}

function wordsOf(reason: unknown): string {
  return (reason instanceof Error ? reason.message : String(reason)).replace(/\.$/, "");
}

/** A dead peer is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectTcp({ host, port }: Target, stop: AbortSignal): Promise<Duplex> {
  const socket = net.connect({ host, port, allowHalfOpen: true });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  // From here on somebody always listens: an error that nobody expects must not end the process.
  socket.on("error", () => {});
  try {
    return await step<Duplex>(stop, (resolve, reject) => {
      const onReady = (): void => resolve(socket);
      socket.once("connect", onReady).once("error", reject);
      return () => socket.off("connect", onReady).off("error", reject);
    });
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

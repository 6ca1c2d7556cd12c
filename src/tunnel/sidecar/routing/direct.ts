/** Direct connections from this host, through this network's own proxy where one is set. */
import net, { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../../../base/errors/error.js";
import { connected } from "../../client/transport.js";
import { noProxyRules } from "../../wire/no-proxy.js";
import { directError, type FailureKind, proxyError, RouteError, type Target } from "./errors.js";
import { connectThroughProxy, type HttpProxy, type ProxyTrust, secureProxy } from "./proxies.js";

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
    if (proxy === undefined || this.#bypasses(target.host, target.port))
      return await this.openWithoutProxy(target, stop);
    let stream: Duplex;
    try {
      stream = await this.openWithoutProxy(proxy, stop);
    } catch (reason) {
      stop.throwIfAborted();
      if (reason instanceof RouteError && reason.kind === "forbidden") throw reason;
      throw proxyError("path", proxy, `of this network cannot be reached: ${messageOf(reason).replace(/\.$/, "")}`, {
        cause: reason,
      });
    }
    return await connectThroughProxy(await secureProxy(stream, proxy, trust, stop), proxy, target, stop);
  }

  /** Past every proxy. */
  async openWithoutProxy(target: Target, stop: AbortSignal): Promise<Duplex> {
    const { check, connect } = this.#options;
    await check(target, stop);
    const addresses = await this.#addressesOf(target, stop);
    return await firstReachable(addresses, async (host) => {
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

/** A dead peer is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectTcp({ host, port }: Target, stop: AbortSignal): Promise<Duplex> {
  const socket = net.connect({ host, port, allowHalfOpen: true });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  return await connected(socket, "connect", stop, (why) => why);
}

/** A name with more dead addresses than this is not worth a caller's patience. */
const MAX_ATTEMPTS = 4;

/** Failures after which another address may be tried; a timeout has used up the time for it. */
const ELSEWHERE: ReadonlySet<FailureKind> = new Set(["refused", "network", "host"]);

export async function firstReachable(
  addresses: readonly string[],
  open: (address: string) => Promise<Duplex>,
): Promise<Duplex> {
  let first: unknown;
  for (const address of addresses.slice(0, MAX_ATTEMPTS)) {
    try {
      return await open(address);
    } catch (reason) {
      if (!(reason instanceof RouteError) || !ELSEWHERE.has(reason.kind)) throw reason;
      first ??= reason;
    }
  }
  throw first;
}

/**
 * Suffixes with their dot, so that neither the bare domain nor a look-alike counts. The first seven are HyperShift's; the
 * others are the same APIs in other partitions, and Google's. Sign-in pages that customers use as identity providers
 * (accounts.google.com) and a customer's own data (windows.net, appdomain.cloud) are left to the tunnel on purpose.
 */
const SUFFIXES: readonly string[] = [
  ".amazonaws.com",
  ".c2s.ic.gov",
  ".hci.ic.gov",
  ".sc2s.sgov.gov",
  ".microsoftonline.com",
  ".azure.com",
  ".cloud.ibm.com",
  ".amazonaws.com.cn",
  ".api.aws",
  ".microsoftonline.us",
  ".usgovcloudapi.net",
  ".chinacloudapi.cn",
  ".partner.microsoftonline.cn",
  ".googleapis.com",
];

export function isCloudApi(host: string, exclude: ReadonlySet<string>): boolean {
  const name = canonicalName(host);
  return !exclude.has(name) && SUFFIXES.some((suffix) => name.endsWith(suffix));
}

export function canonicalName(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/**
 * Chooses, for each target, between the tunnel, the customer's proxy behind it and a direct connection from this host,
 * and dials it.
 */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { DrawbridgeError, reasonOf } from "../../../base/errors/error.js";
import { systemRuntime } from "../../../base/runtime.js";
import type { Dialer } from "../../client/dial.js";
import { withinBounds } from "../../client/errors.js";
import { parseTarget } from "../../client/frontend.js";
import { REDIAL_MS, Redialler } from "../../client/redial.js";
import { AGENT_ITSELF } from "../../wire/destination.js";
import { newProbeDialId } from "../../wire/dial-id.js";
import { noProxyRules } from "../../wire/no-proxy.js";
import type { RoutingConfig } from "../config.js";
import { ANSWER_LIFE, AnswerCache } from "./answer-cache.js";
import { clusterDnsAddress, queryClusterDns, queryServices, type ServiceAddresses } from "./cluster-dns.js";
import { canonicalName, connectTcp, isCloudApi } from "./direct.js";
import { addressOf, directError, proxyError, RouteError, type Target, tunnelError } from "./errors.js";
import { firstReachable } from "./first-reachable.js";
import { FailoverDialer, frontendDialerOf } from "./frontends.js";
import { LoopGuard } from "./loop-guard.js";
import { FallbackState, NameResolver, queryLocally } from "./name-resolution.js";
import { connectThroughProxy, type HttpProxy, parseProxyUrl, proxyTrust, secureProxy } from "./proxies.js";

/** Which route a connection took. */
export type RouteKind = "tunnel" | "customer-proxy" | "direct" | "fallback";

export type OpenServices = (access: { kubeconfig: string; qps: number; burst: number }) => ServiceAddresses;

/** What a listener needs to serve its clients. */
export type Router = Pick<TunnelRouter, "open" | "routeHttp" | "probe" | "close">;

export interface HttpRoute {
  /** Connections may be kept and used again for routes with the same key, and for no others. */
  readonly key: string;
  /** `absolute` towards a proxy (`GET http://host/path`), `origin` towards the target itself (`GET /path`). */
  readonly form: "absolute" | "origin";
  /** The value of Proxy-Authorization that the proxy wants; undefined: send none. */
  readonly proxyAuthorization: string | undefined;
  /** A new connection; rejects as `open` of a router does. */
  open(stop: AbortSignal): Promise<Duplex>;
}

/** What a router needs besides its configuration: replaced by tests, or shared by listeners. */
export interface RouterParts {
  /** Milliseconds that only ever grow. */
  readonly now?: () => number;
  /** Dials through the tunnel, instead of the configuration's frontends; not closed with the router. */
  readonly dialer?: Dialer;
  /** Every address of a name by the system's resolver; rejects with ENOTFOUND or ENODATA when there is none. */
  readonly lookup?: (name: string, stop: AbortSignal) => Promise<readonly string[]>;
  /** The longest time for which answers of resolvers are kept. */
  readonly maxCacheMs?: number;
  /** A TCP connection from this host, half-open allowed, with a listener for its errors. */
  readonly connect?: typeof connectTcp;
  /** Looks up Services with that access to the cluster's API; closed with the router. */
  readonly openServices?: OpenServices | undefined;
  /** Called for every connection made. */
  readonly onRoute?: (route: RouteKind, target: Target) => void;
  /** Called when the fallback begins, with the reason, and when it ends. */
  readonly onFallback?: (active: boolean, why: string) => void;
}

/** DNS must use the tunnel even while that is believed broken: that is how it is found to work again. */
const DNS_PORT = 53;

/** For a process that dials by address or leaves names to others. */
const noServices: OpenServices = () => ({
  find: () => Promise.reject(new Error("this process has no access to the cluster's API")),
  close() {},
});

export class TunnelRouter {
  readonly #config: RoutingConfig;
  readonly #parts: RouterParts;
  readonly #services: ServiceAddresses;
  readonly #dns: ReturnType<typeof clusterDnsAddress>;
  readonly #tunnels: FailoverDialer;
  readonly #guard: LoopGuard;
  readonly #trust: ReturnType<typeof proxyTrust>;
  readonly #fallback: FallbackState | undefined;
  readonly #local: AnswerCache;
  readonly #names: NameResolver;
  /** A resolver may refuse connections for a moment, as servers may. */
  readonly #again: Redialler;
  readonly #httpProxy: HttpProxy | undefined;
  readonly #httpsProxy: HttpProxy | undefined;
  readonly #networkProxy: HttpProxy | undefined;
  readonly #bypassesCustomerProxy: (host: string, port: number) => boolean;
  readonly #bypassesNetworkProxy: (host: string, port: number) => boolean;
  readonly #notCloud: ReadonlySet<string>;

  /** Throws a DrawbridgeError when the configuration cannot work. */
  constructor(config: RoutingConfig, parts: RouterParts = {}) {
    const { resolve: order, preferIpv4, frontends, own } = config;
    const now = parts.now ?? systemRuntime.now;
    this.#config = config;
    this.#parts = parts;
    this.#httpProxy = parseProxyUrl(config.httpProxy, "--http-proxy");
    this.#httpsProxy = parseProxyUrl(config.httpsProxy, "--https-proxy");
    this.#bypassesCustomerProxy = noProxyRules(config.noProxy);
    const customerHosts = [this.#httpProxy, this.#httpsProxy].flatMap((proxy) => proxy?.host ?? []);
    this.#notCloud = new Set([...config.cloudExclude, ...customerHosts].map(canonicalName));
    // Without the bypass nothing uses it: a variable that is meant for the programs beside us does no harm then.
    const { httpsProxy, variable = "HTTPS_PROXY" } = config.network;
    this.#networkProxy = config.cloudBypass ? parseProxyUrl(httpsProxy, variable) : undefined;
    this.#bypassesNetworkProxy = noProxyRules(config.network.noProxy);
    this.#trust = proxyTrust(config.proxyTrustBundle);
    if (config.proxyTrustBundle !== "") this.#trust();

    const dialers = parts.dialer === undefined ? frontends.map(frontendDialerOf) : [parts.dialer];
    const runtime = { ...systemRuntime, now };
    this.#tunnels = new FailoverDialer(dialers, config.dialTimeoutMs, runtime);
    this.#again = new Redialler(Math.min(REDIAL_MS, config.dialTimeoutMs), runtime);
    this.#services = (parts.openServices ?? noServices)({ kubeconfig: config.kubeconfig, qps: 50, burst: 100 });
    this.#dns = clusterDnsAddress(config.clusterDns, this.#services);
    this.#fallback = config.fallbackDirect ? new FallbackState(now, parts.onFallback) : undefined;

    const { maxCacheMs: maxMs = ANSWER_LIFE.maxMs } = parts;
    const cacheOptions = { ...ANSWER_LIFE, maxMs, now, timeoutMs: config.resolveTimeoutMs };
    this.#local = new AnswerCache(queryLocally(parts.lookup), cacheOptions);
    this.#guard = new LoopGuard({ own, frontends, lookup: (name, stop) => this.#local.find(name, stop) });
    this.#refuseOwnProxies();
    const connect = (stop: AbortSignal) => this.#connectToDns(stop);
    const caches = {
      local: this.#local,
      services: new AnswerCache(queryServices(this.#services, config.clusterDomain), cacheOptions),
      "cluster-dns": new AnswerCache(
        queryClusterDns({ connect, searchDomains: config.dnsSearch, ndots: 1 }),
        cacheOptions,
      ),
    };
    this.#names = new NameResolver({ order, preferIpv4, caches, fallback: this.#fallback });
  }

  /** Closes shared connections; streams that were opened end with them at gRPC frontends. */
  close(): void {
    this.#tunnels.close();
    this.#services.close();
  }

  /** An environment that is meant for the programs beside the sidecar would make it call itself for ever. */
  #refuseOwnProxies(): void {
    for (const proxy of [this.#httpProxy, this.#httpsProxy, this.#networkProxy]) {
      if (proxy === undefined || !this.#guard.isOwn(proxy)) continue;
      const message = `the proxy ${addressOf(proxy)} of ${proxy.from} is a listener of this sidecar: name the proxy behind it, or none.`;
      throw new DrawbridgeError("DB_SIDECAR_LOOP", message);
    }
  }

  async #connectToDns(stop: AbortSignal): Promise<Duplex> {
    const server = await this.#dns.find(stop);
    try {
      return await this.#tunnels.dial(server, { isOnce: this.#fallback !== undefined }, stop);
    } catch (reason) {
      this.#dns.forget();
      throw reason;
    }
  }

  /**
   * A stream to the target, paused, with the target's first bytes still in it, and able to end one direction alone where
   * the route can. Rejects with a RouteError, or with the reason of `stop`.
   */
  async open(requested: Target, stop: AbortSignal): Promise<Duplex> {
    return await this.#bounded(requested, stop, async (target, until) => {
      const proxy = this.#httpsProxy;
      const route = this.#routeOf(target, proxy);
      if (route !== "customer-proxy") return await this.#withoutCustomerProxy(route, target, until);
      await this.#guard.check(target, until);
      const proxied = await this.#toCustomerProxy(proxy!, until);
      return this.#took("customer-proxy", target, await connectThroughProxy(proxied, proxy!, target, until));
    });
  }

  /** The route of a plain HTTP request, without dialling. Port 80 must be filled in where the request names none. */
  routeHttp(target: Target): HttpRoute {
    const proxy = this.#httpProxy;
    const route = this.#routeOf(target, proxy);
    if (route !== "customer-proxy") {
      return {
        key: `${route} ${addressOf(target)}`,
        form: "origin",
        proxyAuthorization: undefined,
        open: (stop) => this.#bounded(target, stop, (valid, until) => this.#withoutCustomerProxy(route, valid, until)),
      };
    }
    return {
      key: `${route} ${addressOf(proxy!)}`,
      form: "absolute",
      proxyAuthorization: proxy!.authorization,
      open: (stop) =>
        this.#bounded(proxy!, stop, async (_, until) => {
          return this.#took("customer-proxy", target, await this.#toCustomerProxy(proxy!, until));
        }),
    };
  }

  /** Resolves when a dial through the tunnel reached an agent; rejects with the RouteError that says what did not work. */
  async probe(signal: AbortSignal): Promise<void> {
    const { probe } = this.#config;
    try {
      const stream = await this.#bounded(probe ?? (await this.#probeTarget(signal)), signal, async (target, until) => {
        if (probe === undefined) return await this.#tunnels.dial(target, { dialId: newProbeDialId() }, until);
        const dialled = await this.#throughTunnel(target, until);
        if (dialled !== undefined) return dialled;
        const message = `the tunnel is out of reach, and ${addressOf(target)} is dialled directly.`;
        throw new RouteError("path", "DB_FRONTEND", message);
      });
      stream.destroy();
    } catch (reason) {
      const answeredByAgent = reason instanceof RouteError && reason.kind !== "path" && reason.kind !== "timeout";
      if (probe !== undefined || !answeredByAgent) throw reason;
    }
  }

  /** A refused probe counts as a failed dial at servers and agents of others, so this is the cluster's DNS where that is known. */
  async #probeTarget(stop: AbortSignal): Promise<Target> {
    if (!this.#config.resolve.includes("cluster-dns")) return AGENT_ITSELF;
    return await this.#dns.find(stop).catch(() => AGENT_ITSELF);
  }

  /** The deadline, one form of targets and one family of errors, for everything that opens something. */
  async #bounded(
    requested: Target,
    stop: AbortSignal,
    run: (target: Target, until: AbortSignal) => Promise<Duplex>,
  ): Promise<Duplex> {
    try {
      const target = parseTarget(addressOf(requested));
      const bounds = { signal: stop, timeoutMs: this.#config.dialTimeoutMs };
      return await withinBounds(addressOf(target), bounds, (until) => run(target, until));
    } catch (reason) {
      stop.throwIfAborted();
      throw tunnelError(reason);
    }
  }

  #routeOf({ host, port }: Target, proxy: HttpProxy | undefined): Exclude<RouteKind, "fallback"> {
    if (this.#config.cloudBypass && isCloudApi(host, this.#notCloud)) return "direct";
    return proxy === undefined || this.#bypassesCustomerProxy(host, port) ? "tunnel" : "customer-proxy";
  }

  async #withoutCustomerProxy(route: "direct" | "tunnel", target: Target, stop: AbortSignal): Promise<Duplex> {
    await this.#guard.check(target, stop);
    if (route === "direct") return this.#took("direct", target, await this.#direct(target, stop));
    const tunnelled = await this.#tunnelUnlessDown(target, stop);
    if (tunnelled !== undefined) return this.#took("tunnel", target, tunnelled);
    return this.#took("fallback", target, await this.#pastProxies(target, stop));
  }

  async #toCustomerProxy(proxy: HttpProxy, stop: AbortSignal): Promise<Duplex> {
    return await this.#toProxy(proxy, stop, async () => {
      return (await this.#tunnelUnlessDown(proxy, stop)) ?? (await this.#pastProxies(proxy, stop));
    });
  }

  /** By this network's proxy, unless there is none or NO_PROXY covers the target. */
  async #direct(target: Target, stop: AbortSignal): Promise<Duplex> {
    const proxy = this.#networkProxy;
    if (proxy === undefined || this.#bypassesNetworkProxy(target.host, target.port)) {
      return await this.#pastProxies(target, stop);
    }
    const proxied = await this.#toProxy(proxy, stop, () => this.#pastProxies(proxy, stop));
    return await connectThroughProxy(proxied, proxy, target, stop);
  }

  /** A stream on which the proxy itself can be spoken to. */
  async #toProxy(proxy: HttpProxy, stop: AbortSignal, connect: () => Promise<Duplex>): Promise<Duplex> {
    let stream: Duplex;
    try {
      stream = await connect();
    } catch (reason) {
      stop.throwIfAborted();
      const { kind } = tunnelError(reason);
      const what = `cannot be reached: ${reasonOf(reason)}`;
      throw proxyError(kind === "forbidden" ? kind : "path", proxy, what, { cause: reason });
    }
    return await secureProxy(stream, proxy, this.#trust, stop);
  }

  /** A connection from this host, past every proxy. */
  async #pastProxies(target: Target, stop: AbortSignal): Promise<Duplex> {
    const { connect = connectTcp } = this.#parts;
    try {
      await this.#guard.check(target, stop);
      const addresses = isIP(target.host) === 0 ? await this.#local.find(target.host, stop) : [target.host];
      if (addresses.length === 0) {
        throw Object.assign(new Error("the name has no address here"), { code: "ENOTFOUND" });
      }
      return await firstReachable(addresses, stop, async (host, until) => {
        const at = { host, port: target.port };
        if (host !== target.host) await this.#guard.check(at, until);
        return await connect(at, until).catch((reason: unknown) => {
          until.throwIfAborted();
          throw directError(target, reason);
        });
      });
    } catch (reason) {
      stop.throwIfAborted();
      throw directError(target, reason);
    }
  }

  /** Undefined: the fallback is active, or begins, and the target is to be dialled from this host. */
  async #tunnelUnlessDown(target: Target, stop: AbortSignal): Promise<Duplex | undefined> {
    const fallback = target.port === DNS_PORT ? undefined : this.#fallback;
    const isAddress = isIP(target.host) !== 0;
    if (isAddress && fallback?.active) return await this.#retryTunnel(target, fallback, stop);
    try {
      return await this.#throughTunnel(target, stop);
    } catch (reason) {
      stop.throwIfAborted();
      const { kind, code } = tunnelError(reason);
      if (fallback === undefined || isAddress || kind !== "path" || code === "DB_SIDECAR_NAME") throw reason;
    }
    // A remembered answer has hidden that the cluster's DNS is out of reach, too.
    this.#names.forget(target.host);
    return await this.#throughTunnel(target, stop);
  }

  /** Addresses need no name resolved, so they find out by themselves whether the tunnel works again. */
  async #retryTunnel(target: Target, fallback: FallbackState, stop: AbortSignal): Promise<Duplex | undefined> {
    const end = fallback.tryTunnel();
    if (end === undefined) return undefined;
    try {
      const stream = await this.#throughTunnel(target, stop);
      fallback.markSuccess();
      return stream;
    } catch (reason) {
      stop.throwIfAborted();
      const { kind } = tunnelError(reason);
      if (kind === "path" || kind === "timeout") return undefined;
      fallback.markSuccess();
      throw reason;
    } finally {
      end();
    }
  }

  /** Undefined: the name is to be dialled directly. */
  async #throughTunnel(target: Target, stop: AbortSignal): Promise<Duplex | undefined> {
    if (isIP(target.host) !== 0) return await this.#tunnels.dial(target, {}, stop);
    // With the fallback there is another way, so that nobody is waited for.
    const isOnce = this.#fallback !== undefined;
    const found = await this.#again.run(isOnce, stop, () => this.#names.resolve(target.host, stop));
    if (found === "direct" && target.port !== DNS_PORT) return undefined;
    if (found === "agent" || found === "direct") return await this.#tunnels.dial(target, {}, stop);
    return await firstReachable(found, stop, async (host, until) => {
      const at = { host, port: target.port };
      await this.#guard.check(at, until);
      return await this.#tunnels.dial(at, { name: target.host }, until);
    });
  }

  #took(route: RouteKind, target: Target, stream: Duplex): Duplex {
    this.#parts.onRoute?.(route, target);
    return stream;
  }
}

/**
 * Chooses, for each target, between the tunnel, the customer's proxy behind it and a direct connection from this host,
 * and dials it.
 */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Dialer } from "../../client/dial.js";
import { withinBounds } from "../../client/errors.js";
import { parseTarget } from "../../client/frontend.js";
import { noProxyRules } from "../../wire/no-proxy.js";
import type { RoutingConfig } from "../config.js";
import { ClusterDnsAddress, queryClusterDns, queryServices, type ServiceAddresses } from "./cluster-dns.js";
import { canonicalName, connectTcp, DirectDialer, firstReachable, isCloudApi } from "./direct.js";
import { addressOf, proxyError, RouteError, type Target, tunnelError } from "./errors.js";
import { FailoverDialer, frontendDialerOf } from "./frontends.js";
import { LoopGuard } from "./loop-guard.js";
import {
  AnswerCache,
  FallbackState,
  type LocalLookup,
  NameResolver,
  queryLocally,
  type ResolverQuery,
} from "./name-resolution.js";
import { connectThroughProxy, type HttpProxy, ProxyTrust, parseProxyUrl, secureProxy } from "./proxies.js";

/** Which route a connection took. */
export type RouteKind = "tunnel" | "customer-proxy" | "direct" | "fallback";

export type OpenServices = (access: RoutingConfig["resolution"]["kube"]) => ServiceAddresses;

/** What a listener needs to serve its clients. */
export interface Router {
  /**
   * A stream to the target, paused, with the target's first bytes still in it, and able to end one direction alone where
   * the route can. Rejects with a RouteError, or with the reason of `stop`.
   */
  open(target: Target, stop: AbortSignal): Promise<Duplex>;
  /** The route of a plain HTTP request, without dialling. Port 80 must be filled in where the request names none. */
  routeHttp(target: Target): HttpRoute;
  /** Resolves when a dial through the tunnel reached an agent; rejects with the RouteError that says what did not work. */
  probe(signal: AbortSignal): Promise<void>;
  /** Closes shared connections; streams that were opened end with them at gRPC frontends. */
  close(): void;
}

export interface HttpRoute {
  /** Connections may be kept and used again for routes with the same key, and for no others. */
  readonly key: string;
  /** `absolute` towards a proxy (`GET http://host/path`), `origin` towards the target itself (`GET /path`). */
  readonly form: "absolute" | "origin";
  /** The value of Proxy-Authorization that the proxy wants; undefined: send none. */
  readonly proxyAuthorization: string | undefined;
  /** A new connection; rejects as `Router.open` does. */
  open(stop: AbortSignal): Promise<Duplex>;
}

/** What a router needs besides its configuration: replaced by tests, or shared by listeners. */
export interface RouterParts {
  /** Milliseconds that only ever grow. */
  readonly now?: () => number;
  /** Dials through the tunnel, instead of the configuration's frontends; not closed with the router. */
  readonly dialer?: Dialer;
  /** Every address of a name by the system's resolver; rejects with ENOTFOUND or ENODATA when there is none. */
  readonly lookup?: LocalLookup;
  /** A TCP connection from this host, half-open allowed, with a listener for its errors. */
  readonly connect?: (target: Target, stop: AbortSignal) => Promise<Duplex>;
  /** Looks up Services with that access to the cluster's API; closed with the router. */
  readonly openServices?: OpenServices | undefined;
  /** Called for every connection made. */
  readonly onRoute?: (route: RouteKind, target: Target) => void;
  /** Called when the fallback begins, with the reason, and when it ends. */
  readonly onFallback?: (active: boolean, why: string) => void;
}

/** A port on which an agent's host listens on nothing: its refusal shows that an agent answered. */
const AGENT_ITSELF: Target = { host: "127.0.0.1", port: 9 };

/** DNS must use the tunnel even while that is believed broken: that is how it is found to work again. */
const DNS_PORT = 53;

/** For a process that dials by address or leaves names to others. */
const noServices: OpenServices = () => ({
  find: () => Promise.reject(new Error("this process has no access to the cluster's API")),
  close() {},
});

export class TunnelRouter implements Router {
  readonly #config: RoutingConfig;
  readonly #parts: RouterParts;
  readonly #services: ServiceAddresses;
  readonly #dns: ClusterDnsAddress;
  readonly #tunnels: FailoverDialer;
  readonly #guard: LoopGuard;
  readonly #trust: ProxyTrust;
  readonly #fallback: FallbackState | undefined;
  readonly #names: NameResolver;
  readonly #direct: DirectDialer;
  readonly #httpProxy: HttpProxy | undefined;
  readonly #httpsProxy: HttpProxy | undefined;
  readonly #bypassesCustomerProxy: (host: string, port: number) => boolean;
  readonly #notCloud: ReadonlySet<string>;

  /** Throws a DrawbridgeError when the configuration cannot work. */
  constructor(config: RoutingConfig, parts: RouterParts = {}) {
    const { resolution, customer, timeouts } = config;
    const now = parts.now ?? (() => performance.now());
    this.#config = config;
    this.#parts = parts;
    this.#httpProxy = parseProxyUrl(customer.httpProxy, "the customer's proxy for http");
    this.#httpsProxy = parseProxyUrl(customer.httpsProxy, "the customer's proxy for https");
    this.#bypassesCustomerProxy = noProxyRules(customer.noProxy);
    const customerHosts = [this.#httpProxy, this.#httpsProxy].flatMap((proxy) => proxy?.host ?? []);
    this.#notCloud = new Set([...config.cloud.exclude, ...customerHosts].map(canonicalName));
    // Without the bypass nothing uses it: a variable that is meant for the programs beside us does no harm then.
    const networkProxy = config.cloud.bypass ? parseProxyUrl(config.direct.httpsProxy, "HTTPS_PROXY") : undefined;
    this.#trust = new ProxyTrust(customer.trustBundleFile);
    if (customer.trustBundleFile !== "") this.#trust.context();

    const frontends = parts.dialer === undefined ? config.frontends.map(frontendDialerOf) : [parts.dialer];
    this.#tunnels = new FailoverDialer(frontends, timeouts.openMs, now);
    this.#services = (parts.openServices ?? noServices)(resolution.kube);
    this.#dns = new ClusterDnsAddress(resolution.clusterDns.server, this.#services);
    this.#fallback = config.fallback.direct
      ? new FallbackState(config.fallback.retryMs, now, parts.onFallback)
      : undefined;

    const cached = (query: ResolverQuery): AnswerCache =>
      new AnswerCache(query, { cache: resolution.cache, now, timeoutMs: timeouts.resolveMs });
    const local = cached(queryLocally(parts.lookup));
    const find = (name: string, stop: AbortSignal): Promise<readonly string[]> => local.find(name, stop);
    this.#guard = new LoopGuard({ own: config.own, frontends: config.frontends, lookup: find });
    this.#refuseOwnProxies(networkProxy);
    this.#names = new NameResolver({
      order: resolution.order,
      preferIpv4: resolution.preferIpv4,
      caches: {
        local,
        services: cached(queryServices(this.#services, resolution.clusterDomain)),
        "cluster-dns": cached(
          queryClusterDns({ ...resolution.clusterDns, connect: (stop) => this.#connectToDns(stop) }),
        ),
      },
      fallback: this.#fallback,
    });
    this.#direct = new DirectDialer({
      proxy: networkProxy,
      noProxy: config.direct.noProxy,
      trust: this.#trust,
      connect: parts.connect ?? connectTcp,
      find,
      check: (target, stop) => this.#guard.check(target, stop),
    });
  }

  close(): void {
    this.#tunnels.close();
    this.#services.close();
  }

  /** An environment that is meant for the programs beside the sidecar would make it call itself for ever. */
  #refuseOwnProxies(networkProxy: HttpProxy | undefined): void {
    for (const proxy of [this.#httpProxy, this.#httpsProxy, networkProxy]) {
      if (proxy === undefined || !this.#guard.isOwn(proxy)) continue;
      const message = `the proxy ${proxy.host}:${proxy.port} is a listener of this sidecar: name the proxy behind it, or none.`;
      throw new DrawbridgeError("DB_SIDECAR_LOOP", message);
    }
  }

  async #connectToDns(stop: AbortSignal): Promise<Duplex> {
    const server = await this.#dns.find(stop);
    try {
      return await this.#tunnels.dial(server, undefined, stop);
    } catch (reason) {
      this.#dns.forget();
      throw reason;
    }
  }

  async open(requested: Target, stop: AbortSignal): Promise<Duplex> {
    return await this.#bounded(requested, stop, async (target, until) => {
      const httpsProxy = this.#httpsProxy;
      const route = this.#routeOf(target, httpsProxy);
      await this.#guard.check(target, until);
      if (route !== "customer-proxy") return await this.#withoutProxy(route, target, until);
      const proxied = await this.#toProxy(httpsProxy!, until);
      return this.#took("customer-proxy", target, await connectThroughProxy(proxied, httpsProxy!, target, until));
    });
  }

  routeHttp(target: Target): HttpRoute {
    const httpProxy = this.#httpProxy;
    const route = this.#routeOf(target, httpProxy);
    if (route !== "customer-proxy") {
      return {
        key: `${route} ${addressOf(target)}`,
        form: "origin",
        proxyAuthorization: undefined,
        open: (stop) =>
          this.#bounded(target, stop, async (valid, until) => {
            await this.#guard.check(valid, until);
            return await this.#withoutProxy(route, valid, until);
          }),
      };
    }
    return {
      key: `${route} ${addressOf(httpProxy!)}`,
      form: "absolute",
      proxyAuthorization: httpProxy!.authorization,
      open: (stop) =>
        this.#bounded(httpProxy!, stop, async (_, until) => {
          return this.#took("customer-proxy", target, await this.#toProxy(httpProxy!, until));
        }),
    };
  }

  async probe(signal: AbortSignal): Promise<void> {
    const { probe } = this.#config;
    try {
      const stream = await this.#bounded(probe ?? (await this.#probeTarget(signal)), signal, (target, until) => {
        return probe === undefined ? this.#tunnels.dial(target, undefined, until) : this.#throughTunnel(target, until);
      });
      stream.destroy();
    } catch (reason) {
      const answeredByAgent = reason instanceof RouteError && reason.kind !== "path" && reason.kind !== "timeout";
      if (probe !== undefined || !answeredByAgent) throw reason;
    }
  }

  /** A refused probe counts as a failed dial at server and agent, so this is the cluster's DNS where that is known. */
  async #probeTarget(stop: AbortSignal): Promise<Target> {
    if (!this.#config.resolution.order.includes("cluster-dns")) return AGENT_ITSELF;
    return await this.#dns.find(stop).catch(() => AGENT_ITSELF);
  }

  /** The deadline, and one family of errors, for everything that opens something. */
  async #bounded(
    requested: Target,
    stop: AbortSignal,
    run: (target: Target, until: AbortSignal) => Promise<Duplex>,
  ): Promise<Duplex> {
    try {
      const target = checked(requested);
      const bounds = { signal: stop, timeoutMs: this.#config.timeouts.openMs };
      return await withinBounds(addressOf(target), bounds, (until) => run(target, until));
    } catch (reason) {
      stop.throwIfAborted();
      throw tunnelError(reason);
    }
  }

  #routeOf({ host, port }: Target, proxy: HttpProxy | undefined): Exclude<RouteKind, "fallback"> {
    if (this.#config.cloud.bypass && isCloudApi(host, this.#notCloud)) return "direct";
    return proxy === undefined || this.#bypassesCustomerProxy(host, port) ? "tunnel" : "customer-proxy";
  }

  async #withoutProxy(route: "direct" | "tunnel", target: Target, stop: AbortSignal): Promise<Duplex> {
    if (route === "direct") return this.#took("direct", target, await this.#direct.open(target, stop));
    return await this.#tunnelOrFallback(target, stop);
  }

  async #toProxy(proxy: HttpProxy, stop: AbortSignal): Promise<Duplex> {
    let stream: Duplex;
    try {
      stream = await this.#tunnelOrFallback(proxy, stop, false);
    } catch (reason) {
      stop.throwIfAborted();
      const { kind, message } = tunnelError(reason);
      const what = `of the customer cannot be reached: ${message.replace(/\.$/, "")}`;
      throw proxyError(kind === "forbidden" ? kind : "path", proxy, what, { cause: reason });
    }
    return await secureProxy(stream, proxy, this.#trust, stop);
  }

  async #tunnelOrFallback(target: Target, stop: AbortSignal, report = true): Promise<Duplex> {
    const fallback = this.#fallback;
    const goDirect = async (): Promise<Duplex> => {
      return this.#took("fallback", target, await this.#direct.openWithoutProxy(target, stop), report);
    };
    const mayFallBack = fallback !== undefined && target.port !== DNS_PORT;
    if (mayFallBack && fallback.active && isIP(target.host) !== 0) {
      return (await this.#retryTunnel(target, fallback, stop, report)) ?? (await goDirect());
    }
    try {
      return this.#took("tunnel", target, await this.#throughTunnel(target, stop), report);
    } catch (reason) {
      if (reason instanceof DialDirectly) return await goDirect();
      stop.throwIfAborted();
      const { kind, code } = tunnelError(reason);
      const couldHide = kind === "path" && code !== "DB_SIDECAR_NAME" && isIP(target.host) === 0;
      if (!mayFallBack || !couldHide) throw reason;
    }
    // A remembered answer has hidden that the cluster's DNS is out of reach, too.
    this.#names.forget(target.host);
    try {
      return this.#took("tunnel", target, await this.#throughTunnel(target, stop), report);
    } catch (reason) {
      if (reason instanceof DialDirectly) return await goDirect();
      throw reason;
    }
  }

  /** Addresses need no name resolved, so they find out by themselves whether the tunnel works again. */
  async #retryTunnel(
    target: Target,
    fallback: FallbackState,
    stop: AbortSignal,
    report: boolean,
  ): Promise<Duplex | undefined> {
    const end = fallback.tryTunnel();
    if (end === undefined) return undefined;
    try {
      const stream = await this.#throughTunnel(target, stop);
      fallback.markSuccess();
      return this.#took("tunnel", target, stream, report);
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

  /** Rejects with DialDirectly when the name is to be dialled directly. */
  async #throughTunnel(target: Target, stop: AbortSignal): Promise<Duplex> {
    if (isIP(target.host) !== 0) return await this.#tunnels.dial(target, undefined, stop);
    const found = await this.#names.resolve(target.host, stop);
    const byName = found.kind === "name" || (found.kind === "direct" && target.port === DNS_PORT);
    if (byName) return await this.#tunnels.dial(target, undefined, stop);
    if (found.kind !== "addresses") throw new DialDirectly(target);
    return await firstReachable(found.addresses, async (host) => {
      const at = { host, port: target.port };
      await this.#guard.check(at, stop);
      return await this.#tunnels.dial(at, target.host, stop);
    });
  }

  #took(route: RouteKind, target: Target, stream: Duplex, report = true): Duplex {
    if (report) this.#parts.onRoute?.(route, target);
    return stream;
  }
}

/** The tunnel is not asked for this name now. */
class DialDirectly extends RouteError {
  constructor(target: Target) {
    super("path", "DB_FRONTEND", `the tunnel is out of reach, and ${addressOf(target)} is dialled directly.`);
  }
}

/** In the one form that every step takes, whoever asks. */
function checked(target: Target): Target {
  return parseTarget(addressOf(target));
}

/**
 * The way behind a listener, made from its configuration. CONNECT and SOCKS5 use `open`; plain HTTP requests ask
 * `wayForHttp` (http-way.ts) whether to speak to the customer's proxy or to the target.
 */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Target, Way } from "../way.js";
import { AnswerCache, type Ask } from "./answer-cache.js";
import { canonicalName } from "./cloud.js";
import { askClusterDns } from "./cluster-names.js";
import type { Resolver, WayConfig } from "./config.js";
import { connectTcp, DirectDialer } from "./direct.js";
import { dnsServerByService, fixedDnsServer } from "./dns-service.js";
import { FallbackState } from "./fallback-state.js";
import { askHere, lookupHere } from "./here-names.js";
import type { HttpWay } from "./http-way.js";
import { LoopGuard } from "./loop-guard.js";
import type { OpenServices, WayParts } from "./parts.js";
import { type HttpProxy, parseProxyUrl } from "./proxy-url.js";
import { NameResolver } from "./resolve.js";
import { RoutedWay } from "./routed-way.js";
import { askServices } from "./service-names.js";
import { ProxyTrust } from "./trust.js";
import { doorOf, Tunnels } from "./tunnels.js";

/** Where an agent listens on nothing, so that its refusal is all there is to wait for. */
const AGENT_ITSELF: Target = { host: "127.0.0.1", port: 9 };

export interface OpenWay extends Way, HttpWay {
  /** Resolves when a dial through the tunnel reached an agent; rejects with the WayError that says what did not work. */
  probe(signal: AbortSignal): Promise<void>;
  /** Lets go of shared connections; streams that were opened end with them at gRPC frontends. */
  close(): void;
}

/** Throws a DrawbridgeError when the configuration cannot work. */
export function openWay(config: WayConfig, parts: WayParts = {}): OpenWay {
  const { resolution, fallback: wanted, customer, timeouts } = config;
  const now = parts.now ?? (() => performance.now());
  const httpProxy = parseProxyUrl(customer.httpProxy, "the customer's proxy for http");
  const httpsProxy = parseProxyUrl(customer.httpsProxy, "the customer's proxy for https");
  // Without the bypass nothing goes by it: a variable that is meant for the programs beside us does no harm then.
  const networkProxy = config.cloud.bypass ? parseProxyUrl(config.direct.httpsProxy, "HTTPS_PROXY") : undefined;
  const trust = new ProxyTrust(customer.trustBundleFile);
  if (customer.trustBundleFile !== "") trust.context();

  const doors =
    parts.dialer === undefined
      ? config.frontends.map(doorOf)
      : [{ where: "the proxy-server", dialer: parts.dialer, close: () => {} }];
  const tunnels = new Tunnels({ doors, timeoutMs: timeouts.openMs, now });
  const remember = (ask: Ask): AnswerCache =>
    new AnswerCache(ask, { cache: resolution.cache, now, timeoutMs: timeouts.resolveMs });
  const services = (parts.openServices ?? noServices)(resolution.kube);
  const here = remember(askHere(parts.lookup ?? lookupHere()));
  const { localAddresses } = parts;
  const guard = new LoopGuard({
    own: config.own,
    frontends: config.frontends,
    localAddresses,
    lookup: (name, stop) => here.find(name, stop),
  });
  refuseOwnProxies(guard, [httpProxy, httpsProxy, networkProxy]);

  const fallback = wanted.direct
    ? new FallbackState({
        retryMs: wanted.retryMs,
        now,
        ...(parts.onFallback === undefined ? {} : { onChange: parts.onFallback }),
      })
    : undefined;
  const { server: dnsServer, searchDomains, ndots } = resolution.clusterDns;
  const dns = dnsServer === undefined ? dnsServerByService(services) : fixedDnsServer(dnsServer);
  const asksDns = resolution.order.includes("cluster-dns");
  const clusterDns = askClusterDns({
    searchDomains,
    ndots,
    async connect(stop) {
      const target = await dns.find(stop);
      try {
        return await tunnels.dial(target, undefined, stop);
      } catch (reason) {
        dns.forget();
        throw reason;
      }
    },
  });
  const caches: Record<Exclude<Resolver, "agent">, AnswerCache> = {
    here,
    services: remember(askServices(services, resolution.clusterDomain)),
    "cluster-dns": remember(clusterDns),
  };
  const direct = new DirectDialer({
    proxy: networkProxy,
    noProxy: config.direct.noProxy,
    trust,
    connect: parts.connect ?? connectTcp,
    find: (name, stop) => here.find(name, stop),
    check: (target, stop) => guard.check(target, stop),
  });
  const excluded = [...config.cloud.exclude, ...[httpProxy, httpsProxy].flatMap((proxy) => proxy?.host ?? [])];
  const names = new NameResolver({ order: resolution.order, preferIpv4: resolution.preferIpv4, caches, fallback });
  const way = new RoutedWay({
    tunnels,
    names,
    fallback,
    direct,
    guard,
    trust,
    customer: { httpProxy, httpsProxy, noProxy: customer.noProxy },
    cloud: { bypass: config.cloud.bypass, exclude: new Set(excluded.map(canonicalName)) },
    openMs: timeouts.openMs,
    probe: config.probe,
    // A probe that is refused would count as a failed dial at server and agent, so the cluster's DNS where that is known.
    anywhere: async (stop) => (asksDns ? await dns.find(stop).catch(() => AGENT_ITSELF) : AGENT_ITSELF),
    onRoute: parts.onRoute,
  });
  return {
    open: (target, stop) => way.open(target, stop),
    wayForHttp: (target) => way.wayForHttp(target),
    probe: (signal) => way.probe(signal),
    close() {
      tunnels.close();
      services.close();
    },
  };
}

/** An environment that is meant for the programs beside the sidecar would make it call itself for ever. */
function refuseOwnProxies(guard: LoopGuard, proxies: readonly (HttpProxy | undefined)[]): void {
  for (const proxy of proxies) {
    if (proxy === undefined || !guard.isOwn(proxy)) continue;
    const message = `the proxy ${proxy.host}:${proxy.port} is a listener of this sidecar: name the proxy behind it, or none.`;
    throw new DrawbridgeError("DB_SIDECAR_LOOP", message);
  }
}

/** For whoever dials by address or leaves names to others. */
const noServices: OpenServices = () => ({
  find: () => Promise.reject(new Error("this process has no access to the cluster's API")),
  close() {},
});

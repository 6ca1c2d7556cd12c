/** The configuration of a sidecar. The command line builds it (cli/). */
import type { Frontend } from "../client/frontend.js";
import type { Target } from "./routing/errors.js";

export type Protocol = "socks5" | "http";

export interface ListenerConfig {
  /** In logs and metrics: the address as it was written, without options. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly address: ListenAddress;
  readonly routing: RoutingConfig;
}

export type ListenAddress =
  /** An empty host means all interfaces. */
  { readonly host: string; readonly port: number } | { readonly path: string; readonly fileMode: number };

/** What no client may exceed. */
export interface ClientLimits {
  /** Connections of clients, over all listeners. */
  readonly maxConnections: number;
  /** Until a client has named its target. */
  readonly handshakeTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** For connections on which nothing moves; 0: for ever. */
  readonly idleTimeoutMs: number;
}

export interface AdminConfig {
  readonly host: string;
  readonly port: number;
  readonly tokenFile: string;
  /** Undefined: in the clear, and the API on loopback only. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
}

export interface SidecarConfig {
  readonly listeners: readonly ListenerConfig[];
  readonly limits: ClientLimits;
  /** Undefined: no health port. */
  readonly health: { readonly host: string; readonly port: number } | undefined;
  /** Undefined: no admin port. */
  readonly admin?: AdminConfig;
  readonly probe: { readonly intervalMs: number; readonly timeoutMs: number };
  /** How long connections may go on after the first signal. */
  readonly drainTimeoutMs: number;
}

/**
 * Who turns a name into an address: `local` the system's resolver of this host, `services` the cluster's Service objects,
 * `cluster-dns` the cluster's DNS, over TCP through the tunnel, `agent` nobody: the name goes into the tunnel as it is.
 */
export type ResolverName = "local" | "services" | "cluster-dns" | "agent";

export interface RoutingConfig {
  /** Frontends of proxy-servers, in order; the next is tried when one is out of reach or has no agent. */
  readonly frontends: readonly Frontend[];
  readonly resolution: ResolutionConfig;
  readonly fallback: FallbackConfig;
  readonly cloud: CloudConfig;
  /** The customer's proxies behind the tunnel; an empty URL means none. */
  readonly customer: CustomerProxyConfig;
  readonly direct: DirectConfig;
  /** Where this process listens, all of its listeners: what leads there is refused. `0.0.0.0`, `::` and none mean every address. */
  readonly own: readonly Target[];
  readonly timeouts: Timeouts;
  /** What a probe connects to. Undefined: the cluster's DNS or a port of the agent's own, and any answer will do. */
  readonly probe?: Target | undefined;
}

export interface ResolutionConfig {
  /** Asked in this order until one knows the name; behind `agent` nobody is asked. */
  readonly order: readonly ResolverName[];
  /** Keep only the IPv4 addresses of a name that has some. */
  readonly preferIpv4: boolean;
  /** Without dots at its ends, e.g. `cluster.local`. */
  readonly clusterDomain: string;
  readonly clusterDns: {
    /** Undefined: the Service `dns-default` in `openshift-dns`, or `kube-dns` in `kube-system`. */
    readonly server?: Target | undefined;
    /** Tried behind names with fewer dots than `ndots`, as in resolv.conf; the pod's own resolv.conf plays no part. */
    readonly searchDomains: readonly string[];
    readonly ndots: number;
  };
  /** Used for `services` and for the address of the cluster's DNS; an empty kubeconfig means the cluster we run in. */
  readonly kube: { readonly kubeconfig: string; readonly qps: number; readonly burst: number };
  readonly cache: CacheConfig;
}

/** How long answers are believed; an answer's own time to live counts up to `maxMs`. */
export interface CacheConfig {
  readonly entries: number;
  readonly maxMs: number;
  /** For answers that name no time of their own. */
  readonly defaultMs: number;
  /** For names that do not exist, at most. */
  readonly negativeMs: number;
}

export interface FallbackConfig {
  /** Dial straight from here while the cluster's DNS is out of reach and this host's DNS knows the name. */
  readonly direct: boolean;
  /** How long until the tunnel is tried again. */
  readonly retryMs: number;
}

export interface CloudConfig {
  /** Dial the APIs of cloud providers straight from here. */
  readonly bypass: boolean;
  /** Hosts that are not to be bypassed, whatever their suffix. The customer's proxies never are. */
  readonly exclude: readonly string[];
}

export interface CustomerProxyConfig {
  /** For plain HTTP requests. `http://` or `https://`, with percent-encoded `user:password@` where needed. */
  readonly httpProxy: string;
  /** For CONNECT. */
  readonly httpsProxy: string;
  readonly noProxy: string;
  /** PEM file of authorities that are trusted, beside the system's, for `https://` proxies; read again when it changes. */
  readonly trustBundleFile: string;
}

/** The proxy of this host's own network, used by direct dials (but not by those of the fallback). */
export interface DirectConfig {
  readonly httpsProxy: string;
  readonly noProxy: string;
}

export interface Timeouts {
  /** For everything between `open` and its answer. */
  readonly openMs: number;
  /** For one name, all its queries together. */
  readonly resolveMs: number;
}

export const DEFAULT_RESOLUTION: ResolutionConfig = {
  order: ["agent"],
  preferIpv4: false,
  clusterDomain: "cluster.local",
  clusterDns: { searchDomains: [], ndots: 1 },
  kube: { kubeconfig: "", qps: 50, burst: 100 },
  cache: { entries: 1024, maxMs: 300_000, defaultMs: 30_000, negativeMs: 10_000 },
};

export const DEFAULT_TIMEOUTS: Timeouts = { openMs: 60_000, resolveMs: 15_000 };

export const DEFAULT_FALLBACK: FallbackConfig = { direct: false, retryMs: 30_000 };

/** The defaults of everything but the frontends and our own listeners. */
export const DEFAULT_ROUTING: Omit<RoutingConfig, "frontends" | "own"> = {
  resolution: DEFAULT_RESOLUTION,
  fallback: DEFAULT_FALLBACK,
  cloud: { bypass: false, exclude: [] },
  customer: { httpProxy: "", httpsProxy: "", noProxy: "", trustBundleFile: "" },
  direct: { httpsProxy: "", noProxy: "" },
  timeouts: DEFAULT_TIMEOUTS,
};

/** As Go reads them: the upper-case variable first, the other when that is empty. */
export function directFromEnvironment(env: Readonly<Record<string, string | undefined>>): DirectConfig {
  return {
    httpsProxy: env.HTTPS_PROXY || env.https_proxy || "",
    noProxy: env.NO_PROXY || env.no_proxy || "",
  };
}

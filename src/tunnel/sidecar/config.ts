/** The configuration of a sidecar. The command line builds it (cli/). */
import type { Frontend } from "../client/frontend.js";
import type { Target } from "./routing/errors.js";

export type Protocol = "socks5" | "http";

export interface ProxyListenerConfig {
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

export interface SidecarConfig {
  readonly listeners: readonly ProxyListenerConfig[];
  readonly limits: ClientLimits;
  readonly probe: { readonly intervalMs: number; readonly timeoutMs: number };
}

/**
 * Who turns a name into an address: `local` the system's resolver of this host, `services` the cluster's Service objects,
 * `cluster-dns` the cluster's DNS, over TCP through the tunnel, `agent` nobody: the name goes into the tunnel as it is.
 */
export type ResolverName = "local" | "services" | "cluster-dns" | "agent";

export interface RoutingConfig {
  /** Frontends of proxy-servers, in order; the next is tried when one is out of reach or has no agent. */
  readonly frontends: readonly Frontend[];
  /** Asked in this order until one knows the name; behind `agent` nobody is asked. */
  readonly resolve: readonly ResolverName[];
  /** Keep only the IPv4 addresses of a name that has some. */
  readonly preferIpv4: boolean;
  /** Without dots at its ends, e.g. `cluster.local`. */
  readonly clusterDomain: string;
  /** Undefined: the Service `dns-default` in `openshift-dns`, or `kube-dns` in `kube-system`. */
  readonly clusterDns?: Target | undefined;
  /** Tried behind names without a dot when the cluster's DNS is asked; the pod's own resolv.conf plays no part. */
  readonly dnsSearch: readonly string[];
  /** Used for `services` and for the address of the cluster's DNS; empty: the cluster we run in. */
  readonly kubeconfig: string;
  /** Dial directly from this host while the cluster's DNS is out of reach and this host's DNS knows the name. */
  readonly fallbackDirect: boolean;
  /** Dial the APIs of cloud providers directly from this host. */
  readonly cloudBypass: boolean;
  /** Hosts that are not to be bypassed, whatever their suffix. The customer's proxies never are. */
  readonly cloudExclude: readonly string[];
  /**
   * The customer's proxy behind the tunnel for plain HTTP requests; empty: none. `http://` or `https://`, with
   * percent-encoded `user:password@` where needed.
   */
  readonly httpProxy: string;
  /** The customer's proxy for CONNECT. */
  readonly httpsProxy: string;
  /** Targets for which the customer's proxies are not used. */
  readonly noProxy: string;
  /** PEM file of authorities that are trusted, beside the system's, for `https://` proxies; read again when it changes. */
  readonly proxyTrustBundle: string;
  /** The proxy of this host's own network, used by direct dials (but not by those of the fallback). */
  readonly network: {
    readonly httpsProxy: string;
    readonly noProxy: string;
    /** The one that `httpsProxy` comes from; HTTPS_PROXY when absent. */
    readonly variable?: string;
  };
  /** Where this process listens, all of its listeners: what leads there is refused. `0.0.0.0`, `::` and none mean every address. */
  readonly own: readonly Target[];
  /** For everything between `open` and its answer. */
  readonly dialTimeoutMs: number;
  /** For one name, all its queries together. */
  readonly resolveTimeoutMs: number;
  /** What a probe connects to. Undefined: the cluster's DNS or a port of the agent's own, and any answer will do. */
  readonly probe?: Target | undefined;
}

export const DEFAULT_ROUTING: RoutingConfig = {
  frontends: [],
  resolve: ["agent"],
  preferIpv4: false,
  clusterDomain: "cluster.local",
  dnsSearch: [],
  kubeconfig: "",
  fallbackDirect: false,
  cloudBypass: false,
  cloudExclude: [],
  httpProxy: "",
  httpsProxy: "",
  noProxy: "",
  proxyTrustBundle: "",
  network: { httpsProxy: "", noProxy: "" },
  own: [],
  dialTimeoutMs: 60_000,
  resolveTimeoutMs: 15_000,
};

/** As Go reads them: the upper-case variable first, the other when that is empty. */
export function networkProxyOf(env: Readonly<Record<string, string | undefined>>): RoutingConfig["network"] {
  const variable = env.HTTPS_PROXY ? "HTTPS_PROXY" : "https_proxy";
  return {
    ...{ variable, httpsProxy: env[variable] || "" },
    noProxy: env.NO_PROXY || env.no_proxy || "",
  };
}

/** `drawbridge sidecar`: SOCKS5 and HTTP proxies whose connections go through a tunnel. */

import { readFileSync } from "node:fs";
import { messageOf } from "../../base/errors/error.js";
import {
  DEFAULT_ROUTING,
  networkProxyOf,
  type ProxyListenerConfig,
  type RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import type { Target } from "../../tunnel/sidecar/routing/errors.js";
import {
  duration,
  type Flag,
  filePath,
  inGroup,
  list,
  number,
  port,
  repeated,
  text,
  type Values,
  yesNo,
} from "../flags/flag.js";
import { defineCommand, type Environment, warnOfWords } from "../framework/define.js";
import { parseFrontend, parseListenUrl, resolversOf, targetOf } from "./addresses.js";
import { adminAccessOf, adminFlags, logFormatFlag, loggingOf, validated } from "./process-flags.js";
import { runSidecar, type SidecarProcessConfig } from "./run-sidecar.js";

const hostPort = (usage: string): Flag<Target | undefined> => ({
  kind: {
    typeName: "string",
    read: (given) => {
      const target = targetOf(given);
      if (target === undefined && given !== "") throw new Error("must be host:port");
      return target;
    },
    showDefault: () => undefined,
  },
  value: undefined,
  usage,
});

/** Flags of every command that runs a sidecar: its limits, its health port, its end, its log. */
export const sidecarProcessFlags = ({ healthPort, logFormat }: { healthPort: number; logFormat: "text" | "json" }) => ({
  ...logFormatFlag(logFormat),
  v: { ...number(4, "How much to log; from 5 on every connection."), shorthand: "v" },
  "health-bind-address": text("Address of the health port. If empty, all interfaces."),
  "health-port": port(healthPort, "Port of /healthz, /readyz and /metrics; 0 opens none."),
  "admin-bind-address": text("Address of the admin port. If empty, all interfaces.", "127.0.0.1"),
  "admin-port": port(0, "Port of the admin API, the live page and /metrics; 0 opens none."),
  ...adminFlags,
  ...inGroup("advanced", {
    "max-connections": number(4096, "Client connections at a time, over all listeners.", { least: 1 }),
    "handshake-timeout": duration("15s", "How long a client may take to name its target.", { least: 1 }),
    "max-header-bytes": number(32_768, "Bytes that the head of an HTTP request may have.", { least: 1 }),
    "idle-timeout": duration("0s", "Idle time after which a connection is ended; 0 is never.", { least: 0 }),
    "dial-timeout": duration("60s", "How long a target may take to be connected, name lookup included.", { least: 1 }),
    "resolve-timeout": duration("15s", "How long one name may take to be looked up.", { least: 1 }),
    "probe-interval": duration("10s", "Pause between two probes through the tunnel, which decide readiness.", {
      least: 1,
    }),
    "probe-timeout": duration("5s", "How long a probe may take.", { least: 1 }),
    "probe-target": hostPort(
      "Target of probes. If empty, a port of the agent's own: any answer from an agent will do.",
    ),
    "drain-timeout": duration("25s", "How long connections may go on after SIGTERM.", { least: 0 }),
  }),
});

export type SidecarProcessFlags = Values<ReturnType<typeof sidecarProcessFlags>>;

/** The configuration of a process with these listeners; what leads back to one of them is refused by every route. */
export function sidecarConfig(flags: SidecarProcessFlags, listeners: readonly ProxyListenerConfig[]) {
  const own = listeners.flatMap(({ address }) => ("port" in address ? [address] : []));
  const { adminPort, healthPort } = flags;
  const access = adminAccessOf(flags);
  const config: SidecarProcessConfig = {
    limits: {
      maxConnections: flags.maxConnections,
      handshakeTimeoutMs: flags.handshakeTimeout,
      maxHeaderBytes: flags.maxHeaderBytes,
      idleTimeoutMs: flags.idleTimeout,
    },
    health: healthPort === 0 ? undefined : { host: flags.healthBindAddress, port: healthPort },
    admin: adminPort === 0 ? undefined : { host: flags.adminBindAddress, port: adminPort, ...access },
    probe: { intervalMs: flags.probeInterval, timeoutMs: flags.probeTimeout },
    drainTimeoutMs: flags.drainTimeout,
    listeners: listeners.map((listener) => ({ ...listener, routing: { ...listener.routing, own } })),
  };
  return { config, logging: loggingOf(flags) };
}

/** The part of every listener's routing that the flags of all these commands set. */
export function commonRoutingOf(flags: SidecarProcessFlags & Values<typeof tunnelFlags>, env: Environment) {
  return {
    ...DEFAULT_ROUTING,
    preferIpv4: flags.preferIpv4,
    cloudBypass: flags.connectDirectlyToCloudApis,
    network: networkProxyOf(env),
    dialTimeoutMs: flags.dialTimeout,
    resolveTimeoutMs: flags.resolveTimeout,
    probe: flags.probeTarget,
  };
}

export const frontendTlsOf = ({ caCertPath, tlsCertPath, tlsKeyPath }: Values<typeof tunnelFlags>) => ({
  caFile: caCertPath,
  certFile: tlsCertPath,
  keyFile: tlsKeyPath,
});

/** TLS files and cloud bypass, which HyperShift's proxies have, too. */
export const tunnelFlags = {
  ...inGroup("tls", {
    "ca-cert-path": filePath("CA bundle that proxy-servers are verified against.", "/etc/konnectivity/proxy-ca/ca.crt"),
    "tls-cert-path": filePath("Certificate shown to proxy-servers.", "/etc/konnectivity/proxy-client/tls.crt"),
    "tls-key-path": filePath("Key of --tls-cert-path.", "/etc/konnectivity/proxy-client/tls.key"),
  }),
  "connect-directly-to-cloud-apis": yesNo("Dial the APIs of cloud providers directly from this host."),
  "prefer-ipv4": yesNo("Use only the IPv4 addresses of names that have some."),
};

/** The customer's proxies behind the tunnel. */
export const customerFlags = {
  "http-proxy": text("The customer's proxy behind the tunnel for plain HTTP: its URL, or file:PATH of a file with it."),
  "https-proxy": text(
    "The customer's proxy behind the tunnel for everything else: its URL, or file:PATH of a file with it.",
  ),
  "no-proxy": text("Targets for which the customer's proxies are not used, as in NO_PROXY."),
};

const sidecarFlags = (env: Environment) => ({
  ...sidecarProcessFlags({ healthPort: 8095, logFormat: "text" }),
  ...tunnelFlags,
  ...customerFlags,
  listen: repeated(
    "Listener for clients, as socks5:// or http:// URL, or socks5+unix:///path; repeatable. Behind a ? follow the" +
      " listener's own resolve=, prefer-ipv4=, fallback-direct=, cloud-bypass=, customer-proxy=, mode=.",
    ["socks5://127.0.0.1:8090", "http://127.0.0.1:8092"],
  ),
  frontend: repeated(
    "Frontend of a proxy-server as http-connect+tcp:HOST:PORT, grpc+tcp:HOST:PORT, http-connect+uds:PATH or" +
      " grpc+uds:PATH, with ,servername= ,ca= ,cert= ,key= where they differ; repeatable, tried in order.",
    ["http-connect+tcp:konnectivity-server-local:8090"],
  ),
  resolve: list(
    "Resolvers of names, in order: services (the cluster's Services), cluster-dns (its DNS, through the tunnel), local" +
      " (this host's resolver), agent (the name goes into the tunnel as it is).",
    ["agent"],
  ),
  "fallback-direct": yesNo(
    "Dial targets directly from this host while the cluster's DNS is out of reach and this host's DNS knows the name.",
  ),
  "cloud-exclude": list("Hosts of cloud providers that go through the tunnel all the same."),
  "proxy-trust-bundle": filePath("More authorities trusted for https:// proxies of the customer, PEM."),
  ...inGroup("kubernetes", {
    kubeconfig: filePath(
      "Kubeconfig of the cluster, for services and cluster-dns. If empty, the cluster this runs in.",
      env.KUBECONFIG ?? "",
    ),
    "cluster-dns": hostPort("Address of the cluster's DNS. If empty, its Service is looked up."),
    "cluster-domain": text("Domain of the cluster.", "cluster.local"),
    "dns-search": list("Domains tried behind short names when cluster-dns is asked."),
  }),
});

type SidecarFlags = Values<ReturnType<typeof sidecarFlags>>;

export default defineCommand({
  purpose:
    "Serves SOCKS5 and HTTP proxies whose connections go through a proxy-server's tunnel, for programs beside it.",
  examples: [
    "drawbridge sidecar --frontend=grpc+uds:/run/konnectivity.sock",
    "HTTPS_PROXY=http://127.0.0.1:8092 curl https://10.128.0.5:8443/",
    "ALL_PROXY=socks5h://127.0.0.1:8090 curl https://10.128.0.5:8443/",
  ],
  words: "",
  flags: sidecarFlags,
  config(flags, input) {
    warnOfWords(input.words, input);
    return validated("failed to validate sidecar options:", () => {
      return sidecarConfig(flags, listenersOf(flags, input.env));
    });
  },
  run: ({ config, logging }) => runSidecar(config, logging),
});

function listenersOf(flags: SidecarFlags, env: Environment): ProxyListenerConfig[] {
  const routing = routingOf(flags, env);
  const listeners = flags.listen.map((url) => parseListenUrl(url, routing));
  const names = listeners.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`--listen names ${twice} twice`);
  return listeners;
}

function routingOf(flags: SidecarFlags, env: Environment): RoutingConfig {
  const { clusterDns, dnsSearch, kubeconfig, fallbackDirect, cloudExclude, proxyTrustBundle } = flags;
  return {
    ...commonRoutingOf(flags, env),
    ...{ clusterDns, dnsSearch, kubeconfig, fallbackDirect, cloudExclude, proxyTrustBundle, ...customerOf(flags) },
    frontends: flags.frontend.map((frontend) => parseFrontend(frontend, frontendTlsOf(flags), "this sidecar")),
    resolve: resolversOf("--resolve", flags.resolve),
    clusterDomain: flags.clusterDomain.replace(/^\.|\.$/g, ""),
  };
}

/** The customer's proxies. Throws an Error with one sentence. */
export function customerOf({ httpProxy, httpsProxy, noProxy }: Values<typeof customerFlags>) {
  return { httpProxy: proxyUrl("http-proxy", httpProxy), httpsProxy: proxyUrl("https-proxy", httpsProxy), noProxy };
}

/** From a file when it must not be seen in the list of processes. */
function proxyUrl(flag: string, value: string): string {
  if (!value.startsWith("file:")) return value;
  const path = value.slice("file:".length).replace(/^\/\/(?=\/)/, "");
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Error(`--${flag} names a file that cannot be read: ${messageOf(error)}`);
  }
}

import { readFileSync } from "node:fs";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { ListenerConfig, SidecarConfig } from "../../tunnel/sidecar/config.js";
import {
  DEFAULT_FALLBACK,
  DEFAULT_RESOLUTION,
  directFromEnvironment,
  type RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import type { Target } from "../../tunnel/sidecar/routing/errors.js";
import { ignoredWords, usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { declareSidecarFlags, type SidecarFlags } from "./sidecar-flags.js";
import { parseFrontend } from "./sidecar-frontend.js";
import { parseListenUrl, resolversOf } from "./sidecar-listen.js";
import {
  checkProcessFlags,
  processConfigOf,
  routingTimesOf,
  sidecarLoggingOf,
  targetOf,
} from "./sidecar-process-flags.js";

const purpose =
  "Serves SOCKS5 and HTTP proxies whose connections go through a proxy-server's tunnel, for programs beside it.\n\n" +
  "  HTTPS_PROXY=http://127.0.0.1:8092 curl https://10.128.0.5:8443/    ALL_PROXY=socks5h://127.0.0.1:8090 ...";

/** `argv` without the program; throws a DrawbridgeError whose message is one sentence. */
export function parseSidecarArgs(
  argv: readonly string[],
  env: Environment,
  program: string,
): Invocation<SidecarConfig> {
  const { set, flags } = declareSidecarFlags(env, program);
  const parsed = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  try {
    const [fault] = checkProcessFlags(flags);
    if (fault !== undefined) throw new Error(fault);
    const config = { ...processConfigOf(flags), listeners: listenersOf(flags, env) };
    const warnings = [...parsed.warnings, ...ignoredWords(parsed.positional)];
    return { config, logging: sidecarLoggingOf(flags), warnings };
  } catch (error) {
    throw new DrawbridgeError("DB_FLAG_VALUE", `failed to validate sidecar options: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function listenersOf(flags: SidecarFlags, env: Environment): ListenerConfig[] {
  const routing = routingOf(flags, env);
  const listeners = flags.listen.value.map((text) => parseListenUrl(text, routing));
  const names = listeners.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`--listen names ${twice} twice`);
  return withOwnAddresses(listeners);
}

/** Every router must know every listener: what leads back to one of them is refused. */
export function withOwnAddresses(listeners: readonly ListenerConfig[]): ListenerConfig[] {
  const own: Target[] = listeners.flatMap(({ address }) => ("port" in address ? [address] : []));
  return listeners.map((listener) => ({ ...listener, routing: { ...listener.routing, own } }));
}

function routingOf(flags: SidecarFlags, env: Environment): RoutingConfig {
  const tls = { caFile: flags.caCertPath.value, certFile: flags.tlsCertPath.value, keyFile: flags.tlsKeyPath.value };
  const { value: dns } = flags.clusterDns;
  const server = dns === "" ? undefined : targetOf(dns);
  if (dns !== "" && server === undefined) throw new Error(`--cluster-dns must be host:port, got ${dns}`);
  return {
    frontends: flags.frontend.value.map((text) => parseFrontend(text, tls)),
    own: [],
    resolution: {
      ...DEFAULT_RESOLUTION,
      order: resolversOf("--resolve", flags.resolve.value),
      preferIpv4: flags.preferIpv4.value,
      clusterDomain: flags.clusterDomain.value.replace(/^\.|\.$/g, ""),
      clusterDns: { ...DEFAULT_RESOLUTION.clusterDns, server, searchDomains: flags.dnsSearch.value },
      kube: { ...DEFAULT_RESOLUTION.kube, kubeconfig: flags.kubeconfig.value },
    },
    fallback: { ...DEFAULT_FALLBACK, direct: flags.fallbackDirect.value },
    cloud: { bypass: flags.cloudBypass.value, exclude: flags.cloudExclude.value },
    customer: {
      httpProxy: proxyUrlOf(flags.httpProxy),
      httpsProxy: proxyUrlOf(flags.httpsProxy),
      noProxy: flags.noProxy.value,
      trustBundleFile: flags.proxyTrustBundle.value,
    },
    direct: directFromEnvironment(env),
    ...routingTimesOf(flags),
  };
}

/** From a file when it must not be seen in the list of processes. Throws an Error with one sentence. */
export function proxyUrlOf({ name, value }: { readonly name: string; readonly value: string }): string {
  if (!value.startsWith("file:")) return value;
  const path = value.slice("file:".length).replace(/^\/\/(?=\/)/, "");
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Error(`--${name} names a file that cannot be read: ${messageOf(error)}`);
  }
}

/** HyperShift's two proxies as what they are here: a sidecar with one listener. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { Protocol, SidecarConfig } from "../../tunnel/sidecar/config.js";
import {
  DEFAULT_FALLBACK,
  DEFAULT_RESOLUTION,
  DEFAULT_ROUTING,
  directFromEnvironment,
  type ResolverName,
  type RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import { ignoredWords, usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import {
  declareHttpsFlags,
  declareSocks5Flags,
  type HttpsFlags,
  type KonnectivityFlags,
} from "./konnectivity-flags.js";
import { proxyUrlOf, withOwnAddresses } from "./sidecar-args.js";
import { checkProcessFlags, processConfigOf, routingTimesOf, sidecarLoggingOf } from "./sidecar-process-flags.js";

export function parseSocks5ProxyArgs(
  argv: readonly string[],
  env: Environment,
  program: string,
): Invocation<SidecarConfig> {
  const { set, flags } = declareSocks5Flags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) {
    return { help: usagePage(program, "Serves a SOCKS5 proxy into the hosted cluster, as HyperShift's does.", set) };
  }
  check(flags);
  const order = resolversOf(flags.disableResolver.value, flags.guestDns.value, flags.managementDns.value);
  const routing = routingOf(flags, env, order);
  const fallback = { ...DEFAULT_FALLBACK, direct: order.includes("cluster-dns") && flags.managementDns.value };
  return invocationOf("socks5", flags, { ...routing, fallback }, positional, warnings);
}

function resolversOf(disabled: boolean, guestDns: boolean, managementDns: boolean): ResolverName[] {
  if (disabled) return ["agent"];
  if (!guestDns) return ["services", "local"];
  // With both kinds of DNS at hand, a name that neither knows is passed on as it is.
  return managementDns ? ["services", "cluster-dns", "agent"] : ["services", "cluster-dns"];
}

export function parseHttpsProxyArgs(
  argv: readonly string[],
  env: Environment,
  program: string,
): Invocation<SidecarConfig> {
  const { set, flags } = declareHttpsFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) {
    return { help: usagePage(program, "Serves an HTTP proxy into the hosted cluster, as HyperShift's does.", set) };
  }
  check(flags);
  const routing = routingOf(flags, env, ["services", "cluster-dns"]);
  return invocationOf("http", flags, { ...routing, customer: customerOf(flags) }, positional, warnings);
}

function customerOf({ httpProxy, httpsProxy, noProxy }: HttpsFlags): RoutingConfig["customer"] {
  try {
    const urls = { httpProxy: proxyUrlOf(httpProxy), httpsProxy: proxyUrlOf(httpsProxy) };
    return { ...DEFAULT_ROUTING.customer, ...urls, noProxy: noProxy.value };
  } catch (error) {
    throw new DrawbridgeError("DB_FLAG_VALUE", `failed validation: ${messageOf(error)}`, { cause: error });
  }
}

/** Every violation at once, as HyperShift does it. */
function check(flags: KonnectivityFlags): void {
  const violations = checkProcessFlags(flags);
  for (const { name, value } of [flags.caCertPath, flags.tlsCertPath, flags.tlsKeyPath, flags.hostname]) {
    if (value === "") violations.push(`--${name} is required`);
  }
  for (const { name, value } of [flags.port, flags.servingPort]) {
    if (value < 1 || value > 65_535) violations.push(`--${name} must be from 1 to 65535, got ${value}`);
  }
  if (violations.length > 0) throw new DrawbridgeError("DB_FLAG_VALUE", `failed validation: ${violations.join("; ")}`);
}

function routingOf(flags: KonnectivityFlags, env: Environment, order: readonly ResolverName[]): RoutingConfig {
  const tls = { caFile: flags.caCertPath.value, certFile: flags.tlsCertPath.value, keyFile: flags.tlsKeyPath.value };
  return {
    ...DEFAULT_ROUTING,
    frontends: [{ mode: "http-connect", host: flags.hostname.value, port: flags.port.value, tls }],
    own: [],
    resolution: {
      ...DEFAULT_RESOLUTION,
      order,
      preferIpv4: flags.preferIpv4.value,
      kube: { ...DEFAULT_RESOLUTION.kube, kubeconfig: env.KUBECONFIG ?? "" },
    },
    cloud: { bypass: flags.cloudBypass.value, exclude: [] },
    direct: directFromEnvironment(env),
    ...routingTimesOf(flags),
  };
}

function invocationOf(
  protocol: Protocol,
  flags: KonnectivityFlags,
  routing: RoutingConfig,
  positional: readonly string[],
  warnings: readonly string[],
): Invocation<SidecarConfig> {
  // HyperShift writes `run` in front of the flags; it means nothing.
  const words = positional[0] === "run" ? positional.slice(1) : positional;
  const port = flags.servingPort.value;
  const listener = { name: `${protocol}://:${port}`, protocol, address: { host: "", port }, routing };
  return {
    config: { ...processConfigOf(flags), listeners: withOwnAddresses([listener]) },
    logging: sidecarLoggingOf(flags),
    warnings: [...warnings, ...ignoredWords(words)],
  };
}

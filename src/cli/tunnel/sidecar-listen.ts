/**
 * One listener as written behind --listen: the URL that its clients use, with what is special about it as a query.
 *
 *   socks5://127.0.0.1:8090
 *   http://127.0.0.1:8092?resolve=services,cluster-dns&cloud-bypass=true
 *   socks5+unix:///run/sidecar.sock?mode=0660
 */

import { splitHostPort } from "../../base/address.js";
import type {
  ListenAddress,
  ListenerConfig,
  Protocol,
  ResolverName,
  RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import { parsePort } from "./port.js";
import { parseFileMode } from "./socket-file.js";

const RESOLVERS: readonly ResolverName[] = ["local", "services", "cluster-dns", "agent"];
const DEFAULT_FILE_MODE = 0o600;
const SWITCHES = ["prefer-ipv4", "fallback-direct", "cloud-bypass", "customer-proxy"] as const;

/** `routing` is what a listener has when its own text does not say. Throws an Error with one sentence. */
export function parseListenUrl(text: string, routing: RoutingConfig): ListenerConfig {
  const [, protocol, unix, address = "", query = ""] =
    /^(socks5|http)(?::\/\/|(\+unix):(?:\/\/)?)([^?]*?)\/?(?:\?(.*))?$/s.exec(text) ?? [];
  if (protocol === undefined) {
    throw new Error(`--listen ${text} must be a URL such as socks5://127.0.0.1:8090 or http://127.0.0.1:8092`);
  }
  const options = optionsOf(text, query);
  return {
    name: text.split("?")[0]!,
    protocol: protocol as Protocol,
    address: unix === undefined ? tcpPlace(text, address, options) : socketFile(text, address, options),
    routing: specialRouting(text, routing, options),
  };
}

function optionsOf(text: string, query: string): Map<string, string> {
  const options = new Map<string, string>();
  const known = ["resolve", "mode", ...SWITCHES];
  for (const [key, value] of new URLSearchParams(query)) {
    if (!known.includes(key) || options.has(key)) {
      throw new Error(`--listen ${text} has the option ${key}; allowed are, once each: ${known.join(", ")}`);
    }
    options.set(key, value);
  }
  return options;
}

function tcpPlace(text: string, address: string, options: Map<string, string>): ListenAddress {
  if (options.has("mode")) throw new Error(`--listen ${text} is no unix socket and takes no mode`);
  const split = splitHostPort(address);
  if ("error" in split) throw new Error(`--listen ${text} has no usable address: ${split.error}`);
  const port = parsePort(split.port);
  if (port === undefined) throw new Error(`--listen ${text} needs a port from 1 to 65535`);
  return { host: split.host, port };
}

function socketFile(text: string, path: string, options: Map<string, string>): ListenAddress {
  if (!path.startsWith("/")) throw new Error(`--listen ${text} needs an absolute path behind ://`);
  const mode = options.get("mode");
  return { path, fileMode: mode === undefined ? DEFAULT_FILE_MODE : parseFileMode(mode) };
}

function specialRouting(text: string, routing: RoutingConfig, options: Map<string, string>): RoutingConfig {
  const is = (name: (typeof SWITCHES)[number], otherwise: boolean): boolean => {
    const value = options.get(name);
    if (value === undefined) return otherwise;
    if (value !== "true" && value !== "false") throw new Error(`--listen ${text} needs ${name}=true or ${name}=false`);
    return value === "true";
  };
  const resolve = options.get("resolve");
  const { resolution, fallback, cloud, customer } = routing;
  return {
    ...routing,
    resolution: {
      ...resolution,
      order: resolve === undefined ? resolution.order : resolversOf(`--listen ${text}`, resolve.split(",")),
      preferIpv4: is("prefer-ipv4", resolution.preferIpv4),
    },
    fallback: { ...fallback, direct: is("fallback-direct", fallback.direct) },
    cloud: { ...cloud, bypass: is("cloud-bypass", cloud.bypass) },
    customer: is("customer-proxy", true) ? customer : { ...customer, httpProxy: "", httpsProxy: "" },
  };
}

/** Throws an Error with one sentence that begins with `where`. */
export function resolversOf(where: string, words: readonly string[]): ResolverName[] {
  const order = words.map((word) => RESOLVERS.find((resolver) => resolver === word.trim()));
  if (order.length === 0 || order.includes(undefined) || new Set(order).size < order.length) {
    throw new Error(`${where} must name one or more of ${RESOLVERS.join(", ")}, in the order they are asked`);
  }
  return order as ResolverName[];
}

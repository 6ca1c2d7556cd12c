/**
 * One listener as written behind --listen: the URL that its clients use, with what is special about it as a query.
 *
 *   socks5://127.0.0.1:8090
 *   http://127.0.0.1:8092?resolve=services,cluster-dns&cloud-bypass=true
 *   socks5+unix:///run/sidecar.sock?mode=0660
 */

import { splitHostPort } from "../../base/address.js";
import type { ListenerConfig, Place, Protocol } from "../../tunnel/sidecar/config.js";
import type { Resolver, WayConfig } from "../../tunnel/sidecar/way/config.js";
import { parsePort } from "./port.js";
import { parseFileMode } from "./socket-file.js";

const RESOLVERS: readonly Resolver[] = ["here", "services", "cluster-dns", "agent"];
const DEFAULT_FILE_MODE = 0o600;
const SWITCHES = ["prefer-ipv4", "fallback-direct", "cloud-bypass", "customer-proxy"] as const;

/** `way` is what a listener has when its own text does not say. Throws an Error with one sentence. */
export function parseListenUrl(text: string, way: WayConfig): ListenerConfig {
  const [, protocol, unix, address = "", query = ""] =
    /^(socks5|http)(?::\/\/|(\+unix):(?:\/\/)?)([^?]*?)\/?(?:\?(.*))?$/s.exec(text) ?? [];
  if (protocol === undefined) {
    throw new Error(`--listen ${text} must be a URL such as socks5://127.0.0.1:8090 or http://127.0.0.1:8092`);
  }
  const options = optionsOf(text, query);
  return {
    name: text.split("?")[0]!,
    protocol: protocol as Protocol,
    where: unix === undefined ? tcpPlace(text, address, options) : socketFile(text, address, options),
    way: specialWay(text, way, options),
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

function tcpPlace(text: string, address: string, options: Map<string, string>): Place {
  if (options.has("mode")) throw new Error(`--listen ${text} is no unix socket and takes no mode`);
  const split = splitHostPort(address);
  if ("error" in split) throw new Error(`--listen ${text} has no usable address: ${split.error}`);
  const port = parsePort(split.port);
  if (port === undefined) throw new Error(`--listen ${text} needs a port from 1 to 65535`);
  return { host: split.host, port };
}

function socketFile(text: string, path: string, options: Map<string, string>): Place {
  if (!path.startsWith("/")) throw new Error(`--listen ${text} needs an absolute path behind ://`);
  const mode = options.get("mode");
  return { path, fileMode: mode === undefined ? DEFAULT_FILE_MODE : parseFileMode(mode) };
}

function specialWay(text: string, way: WayConfig, options: Map<string, string>): WayConfig {
  const is = (name: (typeof SWITCHES)[number], otherwise: boolean): boolean => {
    const value = options.get(name);
    if (value === undefined) return otherwise;
    if (value !== "true" && value !== "false") throw new Error(`--listen ${text} needs ${name}=true or ${name}=false`);
    return value === "true";
  };
  const resolve = options.get("resolve");
  const { resolution, fallback, cloud, customer } = way;
  return {
    ...way,
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
export function resolversOf(where: string, words: readonly string[]): Resolver[] {
  const order = words.map((word) => RESOLVERS.find((resolver) => resolver === word.trim()));
  if (order.length === 0 || order.includes(undefined) || new Set(order).size < order.length) {
    throw new Error(`${where} must name one or more of ${RESOLVERS.join(", ")}, in the order they are asked`);
  }
  return order as Resolver[];
}

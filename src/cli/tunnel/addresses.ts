/** Addresses, listeners and frontends as flags write them. Every reader throws an Error with one sentence. */
import { isIPv6 } from "node:net";
import { splitHostPort } from "../../base/address.js";
import type { AgentConfig } from "../../tunnel/agent/config.js";
import type { Frontend, FrontendTls } from "../../tunnel/client/frontend.js";
import type { FrontendMode, ListenerConfig as ServerListener, TlsFiles } from "../../tunnel/server/config.js";
import type {
  ListenAddress,
  Protocol,
  ProxyListenerConfig,
  ResolverName,
  RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import type { Target } from "../../tunnel/sidecar/routing/errors.js";
import { quote } from "../flags/go-values.js";

/** Undefined unless the text is a TCP port, 1 to 65535. */
function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65535 ? port : undefined;
}

/** Undefined unless it is `host:port`. */
export function targetOf(text: string): Target | undefined {
  const split = splitHostPort(text);
  if ("error" in split || split.host === "") return undefined;
  const port = parsePort(split.port);
  return port === undefined ? undefined : { host: split.host, port };
}

/** Octal permissions of a Unix socket: `0770`, `660`. */
export function parseFileMode(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) throw new Error(`socket mode ${text} must be three octal digits, e.g. 0660`);
  return Number.parseInt(text, 8);
}

/** Owner of a Unix socket, `uid:gid` in numbers. */
export function parseOwner(text: string): { uid: number; gid: number } {
  const [, uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(text) ?? [];
  const highest = 2 ** 32 - 2;
  if (uid === undefined || gid === undefined || Number(uid) > highest || Number(gid) > highest) {
    throw new Error(`socket owner ${text} must be a numeric uid:gid, e.g. 0:1000`);
  }
  return { uid: Number(uid), gid: Number(gid) };
}

/** Settings of a server's listener whose own text does not have them. */
export interface ListenerDefaults {
  readonly deleteExisting: boolean;
  readonly fileMode: number;
  readonly owner: ReturnType<typeof parseOwner> | undefined;
  readonly tls: TlsFiles;
}

/**
 * One listener of a server as written behind --listen: MODE+TRANSPORT:ADDRESS[,key=value...]
 *
 *   http-connect+uds:/run/k.sock,mode=0660,owner=0:1000
 *   grpc+uds:/run/g.sock
 *   http-connect+tcp:0.0.0.0:8090,cert=tls.crt,key=tls.key,ca=ca.crt
 *   grpc+tcp:[::1]:8443          TLS files of --server-cert, --server-key, --server-ca-cert
 */
export function parseListen(text: string, defaults: ListenerDefaults): ServerListener {
  const where = `--listen ${text}`;
  const keys = { uds: ["mode", "owner"], tcp: ["cert", "key", "ca"] };
  const { mode, transport, address, options } = parsePlace(where, text, keys, "http-connect+uds:/run/k.sock");
  if (transport === "tcp") {
    return { mode, transport, ...tcpAddress(where, address), tls: listenerTls(where, options, defaults.tls) };
  }
  const { deleteExisting } = defaults;
  const owner = options.has("owner") ? parseOwner(options.get("owner")!) : defaults.owner;
  const fileMode = options.has("mode") ? parseFileMode(options.get("mode")!) : defaults.fileMode;
  return { mode, transport, path: address, deleteExisting, fileMode, ...(owner && { owner }) };
}

function listenerTls(where: string, options: ReadonlyMap<string, string>, defaults: TlsFiles): TlsFiles {
  const file = (setting: string, otherwise: string, flag: string): string => {
    const path = options.get(setting) ?? otherwise;
    if (path === "") throw new Error(`${where} is a TCP listener and needs ${setting}= or ${flag}`);
    return path;
  };
  return {
    certFile: file("cert", defaults.certFile, "--server-cert"),
    keyFile: file("key", defaults.keyFile, "--server-key"),
    clientCaFile: file("ca", defaults.clientCaFile, "--server-ca-cert"),
  };
}

/**
 * A proxy-server's frontend as written behind --frontend, in the words of the server's own --listen.
 *
 *   http-connect+tcp:konnectivity-server-local:8090
 *   http-connect+tcp:10.0.0.7:8090,servername=konnectivity-server-local,ca=ca.crt,cert=tls.crt,key=tls.key
 *   grpc+uds:/run/konnectivity.sock
 */
export function parseFrontend(text: string, tls: FrontendTls, self?: string): Frontend {
  const where = `--frontend ${text}`;
  const keys = { uds: [], tcp: ["servername", "ca", "cert", "key"] };
  const { mode, transport, address, options } = parsePlace(where, text, keys, "http-connect+tcp:server:8090");
  if (transport === "uds") return { mode, uds: address };
  if (options.has("cert") !== options.has("key")) {
    const [given, missing] = options.has("cert") ? ["cert=", "key="] : ["key=", "cert="];
    throw new Error(`${where} has ${given} without ${missing}: give both, of the same issue, or neither`);
  }
  const target = targetOf(address);
  if (target === undefined) throw new Error(`${where} needs an address of the form host:port`);
  const names = { servername: "servername", ca: "caFile", cert: "certFile", key: "keyFile" } as const;
  const own = [...options].map(([key, value]) => [names[key as keyof typeof names], value]);
  return { mode, ...target, tls: { ...tls, ...Object.fromEntries(own) }, ...(self !== undefined && { self }) };
}

/** MODE+TRANSPORT:ADDRESS[,key=value...]; `keys` are those that each transport allows. */
function parsePlace(where: string, text: string, keys: Readonly<Record<"uds" | "tcp", string[]>>, example: string) {
  const [place = "", ...settings] = text.split(",");
  const match = /^(grpc|http-connect)\+(uds|tcp):(.+)$/s.exec(place);
  if (!match) throw new Error(`${where} must look like MODE+TRANSPORT:ADDRESS, e.g. ${example}`);
  const [, mode, transport, address] = match as unknown as [string, FrontendMode, "uds" | "tcp", string];
  const pairs = settings.map((setting) => /^([^=]*)=(.+)$/s.exec(setting)?.slice(1) ?? [setting, ""]);
  return { mode, transport, address, options: parseOptions(where, pairs as [string, string][], keys[transport]) };
}

function parseOptions(where: string, pairs: Iterable<readonly [string, string]>, allowed: readonly string[]) {
  const options = new Map<string, string>();
  for (const [key, value] of pairs) {
    if (!allowed.includes(key) || options.has(key) || value === "") {
      const choice = allowed.length === 0 ? "none is allowed" : `allowed are, once each: ${allowed.join("=, ")}=`;
      throw new Error(`${where} has the setting ${value === "" ? key : `${key}=${value}`}; ${choice}`);
    }
    options.set(key, value);
  }
  return options;
}

function tcpAddress(where: string, address: string): Target {
  const split = splitHostPort(address);
  if ("error" in split) throw new Error(`${where} has no usable address: ${split.error}`);
  const port = parsePort(split.port);
  if (port === undefined) throw new Error(`${where} needs a port from 1 to 65535`);
  return { host: split.host, port };
}

/** Proxy-servers of an agent: `host`, `host:port`, `[v6]:port`, bare `v6`; the same server is kept once. */
export function parseServerAddresses(hosts: readonly string[], defaultPort: number): AgentConfig["servers"] {
  const servers = new Map<string, AgentConfig["servers"][number]>();
  for (const text of hosts) {
    const server = parseServerAddress(text, defaultPort);
    servers.set(`${server.host} ${server.port}`, server);
  }
  return [...servers.values()];
}

const HOST_AND_PORT = /^(?:\[([^\]]*)\]|([^\s/\\@:[\]?#]+))(?::(.*))?$/s;

function parseServerAddress(text: string, defaultPort: number): AgentConfig["servers"][number] {
  if (text === "") throw new Error("proxy server host cannot be empty: name the proxy-server in --proxy-server-host");
  if (isIPv6(text)) return { host: text, port: defaultPort };
  const [, address = "", name, given] = HOST_AND_PORT.exec(text) ?? [];
  const host = name ?? (isIPv6(address) ? address : undefined);
  const port = given === undefined ? defaultPort : parsePort(given);
  if (host === undefined || port === undefined) {
    throw new Error(`proxy server host ${quote(text)} must be a host or host:port, with IPv6 as [address]:port`);
  }
  return { host, port };
}

const RESOLVERS: readonly ResolverName[] = ["local", "services", "cluster-dns", "agent"];
const DEFAULT_FILE_MODE = 0o600;
const SWITCHES = ["prefer-ipv4", "fallback-direct", "cloud-bypass", "customer-proxy"] as const;

/**
 * One listener of a sidecar as written behind --listen: the URL that its clients use, with what is special about it as
 * a query. `routing` is what a listener has when its own text does not say.
 *
 *   socks5://127.0.0.1:8090
 *   http://127.0.0.1:8092?resolve=services,cluster-dns&cloud-bypass=true
 *   socks5+unix:///run/sidecar.sock?mode=0660
 */
export function parseListenUrl(text: string, routing: RoutingConfig): ProxyListenerConfig {
  const [, protocol, unix, address = "", query = ""] =
    /^(socks5|http)(?::\/\/|(\+unix):(?:\/\/)?)([^?]*?)\/?(?:\?(.*))?$/s.exec(text) ?? [];
  if (protocol === undefined) {
    throw new Error(`--listen ${text} must be a URL such as socks5://127.0.0.1:8090 or http://127.0.0.1:8092`);
  }
  const where = `--listen ${text}`;
  const options = parseOptions(where, new URLSearchParams(query), ["resolve", "mode", ...SWITCHES]);
  if (unix === undefined && options.has("mode")) throw new Error(`${where} is no unix socket and takes no mode`);
  return {
    name: text.split("?")[0]!,
    protocol: protocol as Protocol,
    address: unix === undefined ? tcpAddress(where, address) : socketFile(where, address, options.get("mode")),
    routing: specialRouting(text, routing, options),
  };
}

function socketFile(where: string, path: string, mode: string | undefined): ListenAddress {
  if (!path.startsWith("/")) throw new Error(`${where} needs an absolute path behind ://`);
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
  return {
    ...routing,
    ...(resolve === undefined ? {} : { resolve: resolversOf(`--listen ${text}`, resolve.split(",")) }),
    preferIpv4: is("prefer-ipv4", routing.preferIpv4),
    fallbackDirect: is("fallback-direct", routing.fallbackDirect),
    cloudBypass: is("cloud-bypass", routing.cloudBypass),
    ...(is("customer-proxy", true) ? {} : { httpProxy: "", httpsProxy: "" }),
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

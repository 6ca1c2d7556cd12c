/** Where an agent finds proxy-servers: `host`, `host:port`, `[v6]:port`, bare `v6`; several by comma or repetition. */
import { isIPv6 } from "node:net";
import { splitHostPort } from "../../base/address.js";
import type { AgentConfig } from "../../tunnel/agent/config.js";
import type { FlagKind } from "../flags/flag-value.js";
import { readCsvRecord } from "../flags/go-csv.js";
import { quote } from "../flags/go-text.js";
import { parsePort } from "./port.js";

/** Shown as upstream's single string; every occurrence adds. */
export const serverHosts: FlagKind<readonly string[]> = {
  typeName: "string",
  read: (text, earlier = []) => [...earlier, ...(text === "" ? [""] : readCsvRecord(text))],
  showDefault: (hosts) => quote(hosts.join(",")),
};

/** Throws an Error with one sentence. */
export function parseServerAddresses(hosts: readonly string[], defaultPort: number): AgentConfig["servers"] {
  const servers = new Map<string, AgentConfig["servers"][number]>();
  for (const text of hosts) {
    const server = parseServerAddress(text, defaultPort);
    servers.set(`${server.host} ${server.port}`, server);
  }
  return [...servers.values()];
}

function parseServerAddress(text: string, defaultPort: number): AgentConfig["servers"][number] {
  if (text === "") throw new Error("proxy server host cannot be empty: name the proxy-server in --proxy-server-host");
  const fault = new Error(`proxy server host ${quote(text)} must be a host or host:port, with IPv6 as [address]:port`);
  if (isIPv6(text)) return { host: text, port: defaultPort };
  const bracketed = /^\[(.*)\]$/s.exec(text)?.[1];
  if (bracketed !== undefined) {
    if (isIPv6(bracketed)) return { host: bracketed, port: defaultPort };
    throw fault;
  }
  if (!text.includes(":")) return { host: plainHost(text, fault), port: defaultPort };
  const split = splitHostPort(text);
  if ("error" in split) throw fault;
  const port = parsePort(split.port);
  if (port === undefined) throw fault;
  return { host: isIPv6(split.host) ? split.host : plainHost(split.host, fault), port };
}

function plainHost(host: string, fault: Error): string {
  if (!/^[^\s/\\@:[\]?#]+$/.test(host)) throw fault;
  return host;
}

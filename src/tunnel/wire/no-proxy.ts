/**
 * NO_PROXY as Go's programs read it (golang.org/x/net/http/httpproxy), quirks included: what one of them sends past a
 * proxy, we do too. A test compares the two.
 */
import { domainToASCII } from "node:url";
import ipaddr from "ipaddr.js";
import { splitHostPort } from "../../base/address.js";

/** Whether a connection to that host, given without brackets, and port goes past the proxy. */
export function bypassesProxy(noProxy: string, host: string, port: number): boolean {
  return noProxyRules(noProxy)(host, port);
}

/** The list, read once. */
export function noProxyRules(noProxy: string): (host: string, port: number) => boolean {
  const entries = noProxy.split(",").map((entry) => entry.trim().toLowerCase());
  const rules = entries.includes("*") ? [everything] : entries.flatMap(ruleOf);
  return (host, port) => {
    const name = toAscii(host);
    const address = addressIn(name.replace(/(?<=:.*)%.+$/, ""));
    if (name === "localhost" || address?.range() === "loopback") return true;
    const asked = { name: name.toLowerCase(), address, port: String(port) };
    return rules.some((rule) => rule(asked));
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Asked = { readonly name: string; readonly address: Address | undefined; readonly port: string };
type Rule = (asked: Asked) => boolean;

const everything: Rule = () => true;

function ruleOf(entry: string): Rule[] {
  const prefix = prefixIn(entry);
  if (prefix !== undefined) return [({ address }) => address !== undefined && prefix(address)];
  const split = splitHostPort(entry);
  const { host, port: only } = "error" in split ? { host: entry, port: "" } : split;
  if (host === "") return [];
  const onPort = (port: string): boolean => only === "" || only === port;
  const exact = addressIn(host);
  if (exact !== undefined) {
    const text = exact.toString();
    return [({ address, port }) => address?.toString() === text && onPort(port)];
  }
  // A plain name covers itself and everything below it; a leading dot, or star and dot, only what is below.
  const below = host.startsWith("*.") ? host.slice(1) : host;
  const self = below.startsWith(".") ? undefined : toAscii(below);
  const suffix = self === undefined ? dottedToAscii(below) : `.${self}`;
  return [
    ({ name, address, port }) => address === undefined && (name === self || name.endsWith(suffix)) && onPort(port),
  ];
}

/** Addresses only in the forms that Go takes: no octal, no short forms. IPv4 inside IPv6 counts as IPv4. */
function addressIn(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%") || !ipaddr.IPv6.isValid(text)) return undefined;
  return ipaddr.process(text);
}

function prefixIn(entry: string): ((address: Address) => boolean) | undefined {
  const [, network = "", length = ""] = /^([^/]+)\/(\d{1,3})$/.exec(entry) ?? [];
  const base = addressIn(network);
  if (base === undefined) return undefined;
  // An IPv4 network written as IPv6 counts from the 96th bit on.
  const bits = Number(length) - (base.kind() === "ipv4" && network.includes(":") ? 96 : 0);
  if (bits < 0 || bits > (base.kind() === "ipv4" ? 32 : 128)) return undefined;
  return (address) => address.kind() === base.kind() && (address as ipaddr.IPv4).match(base as ipaddr.IPv4, bits);
}

/** As it is when it has no ASCII form. */
function toAscii(name: string): string {
  return /[^\0-\x7f]/.test(name) ? domainToASCII(name) || name : name;
}

function dottedToAscii(suffix: string): string {
  return `.${toAscii(suffix.slice(1))}`;
}

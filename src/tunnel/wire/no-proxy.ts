/**
 * NO_PROXY as Go's programs read it (golang.org/x/net/http/httpproxy), quirks included: what one of them sends past a
 * proxy, we do too. A test compares the two.
 */
import { domainToASCII } from "node:url";
import { splitHostPort } from "../../base/address.js";
import { type Address, covers, parseAddress, parsePrefix } from "./prefix.js";

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

type Asked = { readonly name: string; readonly address: Address | undefined; readonly port: string };
type Rule = (asked: Asked) => boolean;

const everything: Rule = () => true;

function ruleOf(entry: string): Rule[] {
  const prefix = entry.includes("/") && !entry.includes("%") ? parsePrefix(entry) : undefined;
  if (prefix !== undefined) return [({ address }) => address !== undefined && covers(prefix, address)];
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

/** Go's takes no zones. */
function addressIn(text: string): Address | undefined {
  return text.includes("%") ? undefined : parseAddress(text);
}

/** The ASCII form of a name, or the name itself when it has none. */
function toAscii(name: string): string {
  return /[^\0-\x7f]/.test(name) ? domainToASCII(name) || name : name;
}

function dottedToAscii(suffix: string): string {
  return `.${toAscii(suffix.slice(1))}`;
}

/**
 * The one form of a destination that rules judge, agents are chosen by and connections are made to. Every entrance brings
 * what it was given into this form or refuses it, so that no two readers of one text can take it for different hosts.
 */
import ipaddr from "ipaddr.js";
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { plainText } from "../../base/text.js";
import { isProbeDialId } from "./dial-id.js";
import type { DialId } from "./packet.js";

/**
 * An address: IPv4 as four decimal parts, IPv6 as RFC 5952 writes it, an IPv4-mapped one as IPv4, the unspecified ones as
 * the loopback addresses that the system connects to for them; with a zone only where it is link-local.
 * A name: in lower case, with its last dot, which keeps search domains away from it.
 */
export interface DestinationHost {
  readonly kind: "address" | "name";
  readonly text: string;
}

export interface Destination {
  readonly host: DestinationHost;
  readonly port: number;
  /** Both, as they are sent to agents. */
  readonly address: string;
}

/** Why parseHost does not take a host, for people. */
export const NOT_A_HOST =
  "a host is an IP address, or a name of ASCII letters, digits, hyphens and underscores in labels of 1 to 63 characters";

const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const NAME = /^(?=.{1,253}\.?$)(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$/;

/** A name has 253 characters at most, and a port five; nobody needs to forward and log more. */
const MAX_ADDRESS_CHARS = 300;

const LOCAL: DestinationHost = { kind: "address", text: "127.0.0.1" };

/** Undefined: it is neither an address nor a name (NOT_A_HOST). Brackets are not part of a host. */
export function parseHost(text: string): DestinationHost | undefined {
  const address = canonicalAddress(text);
  if (address !== undefined) return { kind: "address", text: address };
  return NAME.test(text) ? { kind: "name", text: text.toLowerCase() } : undefined;
}

/** `host:port` as callers write it; errors in Go's words. No host means this one, as in Go. */
export function parseDestination(address: string): Destination | { readonly error: string } {
  if (address.length > MAX_ADDRESS_CHARS)
    return { error: `the address is longer than ${MAX_ADDRESS_CHARS} characters` };
  const split = splitHostPort(address);
  if ("error" in split) return { error: plainText(split.error) };
  const host = split.host === "" ? LOCAL : parseHost(split.host);
  if (host === undefined) return { error: `lookup ${plainText(split.host)}: no such host (${NOT_A_HOST})` };
  const port = Number(split.port);
  if (!/^\d+$/.test(split.port) || port > 65_535) {
    return { error: `lookup tcp/${plainText(split.port)}: unknown port` };
  }
  return { host, port, address: joinHostPort(host.text, port) };
}

/** A host in its one form, as rules and strategies look at it: a zone says which interface, a last dot nothing. */
export function judgedHost(host: string): string {
  if (host.endsWith(".")) return host.slice(0, -1);
  const zone = host.indexOf("%");
  return zone < 0 ? host : host.slice(0, zone);
}

/** Undefined: it is not an address. Only what inet_pton and Go's netip take: no octal, hexadecimal or short forms. */
export function canonicalAddress(text: string): string | undefined {
  if (IPV4.test(text)) return text === "0.0.0.0" ? "127.0.0.1" : text;
  if (!text.includes(":")) return undefined;
  const [, bare = "", zone = ""] = /^([0-9A-Fa-f:.]+)(%[A-Za-z0-9._-]{1,15})?$/.exec(text) ?? [];
  const url = `http://[${bare}]`;
  if (!URL.canParse(url)) return undefined;
  // As a URL spells it: of `::1.2.3.4`, which is no mapped address, ipaddr.js would make one.
  const address = ipaddr.IPv6.parse(new URL(url).hostname.slice(1, -1));
  if (address.isIPv4MappedAddress()) return canonicalAddress(address.toIPv4Address().toString());
  if (address.range() === "unspecified") return "::1";
  return address.range() === "linkLocal" ? `${address.toString()}${zone}` : address.toString();
}

/**
 * Where a drawbridge agent answers by itself: whatever is sent there comes back. The watchdog of a server dials it over
 * the same link as everybody's connections. `invalid` is reserved (RFC 6761), so it is no host's name anywhere.
 */
export const ECHO_HOST = "echo.drawbridge.invalid";
export const ECHO_ADDRESS = `${ECHO_HOST}:7`;

/** A port on which an agent's host listens on nothing: its refusal shows that an agent answered. */
export const AGENT_ITSELF = { host: "127.0.0.1", port: 9 } as const;

/** Whether a dial was a probe of AGENT_ITSELF and has found its agent: nothing has failed then. */
export const foundAgent = (dialId: DialId, address: string, error: string): boolean =>
  isProbeDialId(dialId) &&
  address === joinHostPort(AGENT_ITSELF.host, AGENT_ITSELF.port) &&
  error.endsWith("connection refused");

/** The answer to callers who ask for the echo, in Go's words. */
export const ECHO_REFUSAL = `dial tcp: lookup ${ECHO_HOST}: no such host`;

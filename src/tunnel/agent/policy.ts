/**
 * Where this agent may connect to. Rules are checked against the resolved address, and exactly that address is dialled,
 * so a name cannot be made to point elsewhere in between. Destinations and rules are compared in the one form that
 * wire/destination.ts gives them, in which 0.0.0.0 and :: are the loopback addresses that the system connects to for them.
 *
 *   10.0.0.0/8            any port of these addresses       *.svc.cluster.local:8443   names, one port
 *   10.0.0.0/8:443        one port                           *:10250                    any destination, one port
 *   [fd00::/8]:1-1024     a range of ports                   169.254.169.254            one address
 *
 * Deny rules win; they also hold for an IPv6 address that leads to a denied IPv4 address by translation. With any allow
 * rule, what none of them covers is denied. Cloud metadata addresses are denied unless an allow rule names the very
 * address.
 */
import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { canonicalAddress, type DestinationHost, judgedHost } from "../wire/destination.js";
import { type Address, covers, type Prefix, parsePrefix, wholeLength } from "../wire/prefix.js";

/**
 * AWS, Azure, GCP and OpenStack; AWS, GCP and OpenStack over IPv6; Azure's wire server; AWS's credentials of containers
 * and pods.
 */
const METADATA = new Set([
  ...["169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe", "168.63.129.16"],
  ...["169.254.170.2", "169.254.170.23", "fd00:ec2::23"],
]);

interface Rule {
  readonly text: string;
  readonly ports: readonly [number, number];
  /** One of the two: a prefix of addresses, or a pattern of names, of which only `*` alone covers addresses, too. */
  readonly prefix?: Prefix;
  readonly name?: RegExp | "any";
}

export class DestinationPolicy {
  readonly #allow: readonly Rule[];
  readonly #deny: readonly Rule[];
  readonly #unruled: boolean;

  constructor(allow: readonly string[], deny: readonly string[]) {
    this.#allow = allow.map((text) => parseRule("--allow", text));
    this.#deny = deny.map((text) => parseRule("--deny", text));
    this.#unruled = allow.length === 0 && deny.length === 0;
  }

  /** Undefined when the connection may be made, else why not. `host` was asked for, `address` is in its one form. */
  refusal(host: DestinationHost, address: string, port: number): string | undefined {
    // The common case needs no parsing.
    if (this.#unruled && isIPv4(address) && !METADATA.has(address)) return undefined;
    const target = ipaddr.parse(judgedHost(address));
    const inside = ipv4Inside(target);
    const name = host.kind === "name" ? judgedHost(host.text) : undefined;
    const denied = this.#deny.find(
      (rule) => matches(rule, name, target, port) || (inside !== undefined && matches(rule, name, inside, port)),
    );
    if (denied !== undefined) return `rule --deny ${denied.text} forbids it`;
    const both = inside === undefined ? [target] : [target, inside];
    const metadata = both.find((each) => METADATA.has(each.toString()));
    const isNamed = (rule: Rule): boolean => both.some((each) => namesExactly(rule, each, port));
    if (metadata !== undefined && !this.#allow.some(isNamed)) {
      return `cloud metadata addresses are denied unless --allow ${metadata.toString()} is given`;
    }
    if (this.#allow.length > 0 && !this.#allow.some((rule) => matches(rule, name, target, port))) {
      return "no --allow rule covers it";
    }
    return undefined;
  }
}

/** `name` is undefined for a destination that was given as an address. */
function matches(rule: Rule, name: string | undefined, target: Address, port: number): boolean {
  if (port < rule.ports[0] || port > rule.ports[1]) return false;
  if (rule.name !== undefined) return rule.name === "any" || (name !== undefined && rule.name.test(name));
  const prefix = rule.prefix!;
  return covers(prefix, target) || (target.toString() === "127.0.0.1" && covers(prefix, UNSPECIFIED));
}

/** Dialled as 127.0.0.1, so that a prefix around it covers that, too. (:: needs no such care: any prefix around it has ::1.) */
const UNSPECIFIED = ipaddr.IPv4.parse("0.0.0.0");

function namesExactly(rule: Rule, target: Address, port: number): boolean {
  return rule.prefix?.length === wholeLength(target) && matches(rule, undefined, target, port);
}

/** Prefixes of IPv6 addresses with an IPv4 address in them that routers translate or tunnel to, and where it begins. */
const TRANSLATED = [
  // NAT64's well-known prefix and its local one, SIIT's, the deprecated IPv4-compatible addresses, and 6to4.
  { prefix: ipaddr.IPv6.parseCIDR("64:ff9b::/96"), at: 12 },
  { prefix: ipaddr.IPv6.parseCIDR("64:ff9b:1::/48"), at: 12 },
  { prefix: ipaddr.IPv6.parseCIDR("::ffff:0:0:0/96"), at: 12 },
  { prefix: ipaddr.IPv6.parseCIDR("::/96"), at: 12 },
  { prefix: ipaddr.IPv6.parseCIDR("2002::/16"), at: 2 },
];

function ipv4Inside(target: Address): Address | undefined {
  if (target.kind() === "ipv4") return undefined;
  const address = target as ipaddr.IPv6;
  const form = TRANSLATED.find(({ prefix }) => address.match(prefix));
  if (form === undefined || address.range() === "loopback") return undefined;
  return ipaddr.fromByteArray(address.toByteArray().slice(form.at, form.at + 4));
}

function parseRule(flag: string, text: string): Rule {
  const bad = (why: string): never => {
    throw new DrawbridgeError("DB_FLAG_VALUE", `${flag} ${text} is not a destination rule: ${why}.`);
  };
  const parts = /^(?:\[([^\]]+)\]|([^[\]:]*|[^[\]]*:[^[\]]*:[^[\]]*?))(?::(\d+)(?:-(\d+))?)?$/.exec(text.trim());
  if (parts === null) return bad("write ADDRESS, PREFIX or NAME, optionally followed by :PORT or :FROM-TO");
  const host = parts[1] ?? parts[2] ?? "";
  const first = parts[3] === undefined ? 0 : Number(parts[3]);
  const last = parts[4] === undefined ? (parts[3] === undefined ? 65_535 : first) : Number(parts[4]);
  if (last > 65_535 || first > last) return bad("ports go from 0 to 65535, the smaller one first");
  const ports = [first, last] as const;
  if (host === "") return bad("it names no destination; use * for any");
  // 0.0.0.0 and :: alone are the loopback addresses that the system connects to for them.
  const prefix = parsePrefix(host.includes("/") ? host : judgedHost(canonicalAddress(host) ?? host));
  if (prefix !== undefined) return { text, ports, prefix };
  if (host.includes("/") || host.includes(":")) return bad(`${host} is not an address prefix`);
  if (host === "*") return { text, ports, name: "any" };
  if (!/^[A-Za-z0-9.*_-]+$/.test(host)) return bad(`${host} is not a host name`);
  if (/^[\d.*]+$|(?:^|\.)\d+\.?$/.test(host)) {
    return bad("addresses are written in four decimal parts, networks as 10.0.0.0/8");
  }
  const pattern = judgedHost(host.toLowerCase()).replaceAll(".", "\\.").replaceAll("*", ".*");
  return { text, ports, name: new RegExp(`^${pattern}$`) };
}

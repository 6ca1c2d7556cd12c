/**
 * Where this agent may connect to. Rules are checked against the resolved address, and exactly that address is dialled,
 * so a name cannot be made to point elsewhere in between.
 *
 *   10.0.0.0/8            any port of these addresses       *.svc.cluster.local:8443   names, one port
 *   10.0.0.0/8:443        one port                           *:10250                    any destination, one port
 *   [fd00::/8]:1-1024     a range of ports                   169.254.169.254            one address
 *
 * Deny rules win. With any allow rule, what none of them covers is denied. Cloud metadata addresses are denied unless an
 * allow rule names the very address.
 */
import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";
import { DrawbridgeError } from "../errors/error.js";

/** AWS, Azure, GCP and OpenStack; AWS over IPv6; Azure's wire server. */
const METADATA = new Set(["169.254.169.254", "fd00:ec2::254", "168.63.129.16"]);

type Address = ReturnType<typeof ipaddr.process>;

interface Rule {
  readonly text: string;
  readonly ports: readonly [number, number];
  /** One of the two: a prefix of addresses, or a pattern of names. */
  readonly prefix?: readonly [Address, number];
  readonly name?: RegExp;
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

  /** Undefined when the connection may be made, else why not. `host` is what the caller asked for. */
  refusal(host: string, address: string, port: number): string | undefined {
    // The common case needs no parsing: Node takes IPv4 only in the one spelling these addresses are written in.
    if (this.#unruled && isIPv4(address) && !METADATA.has(address)) return undefined;
    // A zone says which interface, not which host; a trailing dot is the same name.
    const target = ipaddr.process(address.replace(/%.*$/, ""));
    const name = host.toLowerCase().replace(/\.$/, "");
    const denied = this.#deny.find((rule) => matches(rule, name, target, port));
    if (denied !== undefined) return `rule --deny ${denied.text} forbids it`;
    if (METADATA.has(target.toString()) && !this.#allow.some((rule) => namesExactly(rule, target, port))) {
      return `cloud metadata addresses are denied unless --allow ${target.toString()} is given`;
    }
    if (this.#allow.length > 0 && !this.#allow.some((rule) => matches(rule, name, target, port))) {
      return "no --allow rule covers it";
    }
    return undefined;
  }
}

function matches(rule: Rule, name: string, target: Address, port: number): boolean {
  if (port < rule.ports[0] || port > rule.ports[1]) return false;
  if (rule.name !== undefined) return rule.name.test(name);
  const [network, length] = rule.prefix!;
  return network.kind() === target.kind() && (target as ipaddr.IPv4).match(network as ipaddr.IPv4, length);
}

function namesExactly(rule: Rule, target: Address, port: number): boolean {
  const whole = target.kind() === "ipv4" ? 32 : 128;
  return rule.prefix?.[1] === whole && matches(rule, "", target, port);
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
  const prefix = parsePrefix(host);
  if (prefix !== undefined) return { text, ports, prefix };
  if (host.includes("/") || host.includes(":")) return bad(`${host} is not an address prefix`);
  if (!/^[A-Za-z0-9.*_-]+$/.test(host)) return bad(`${host} is not a host name`);
  const pattern = host.toLowerCase().replaceAll(".", "\\.").replaceAll("*", ".*");
  return { text, ports, name: new RegExp(`^${pattern}$`) };
}

function parsePrefix(text: string): readonly [Address, number] | undefined {
  const [host = "", bits, more] = text.split("/");
  if (more !== undefined) return undefined;
  if (!ipaddr.IPv4.isValidFourPartDecimal(host) && !(host.includes(":") && ipaddr.IPv6.isValid(host))) return undefined;
  const address = ipaddr.process(host);
  const whole = address.kind() === "ipv4" ? 32 : 128;
  if (bits === undefined) return [address, whole];
  const length = Number(bits);
  return /^\d{1,3}$/.test(bits) && length <= whole ? [address, length] : undefined;
}

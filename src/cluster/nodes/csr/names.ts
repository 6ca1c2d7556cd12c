/** Addresses, networks and names in one spelling, so that they can be compared. */
import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Undefined for anything that is not one plain address. An IPv4 address inside IPv6 is that IPv4 address. */
export function plainAddress(text: string): string | undefined {
  return isIP(text) === 0 || text.includes("%") ? undefined : ipaddr.process(text).toString();
}

/** Membership in any of some networks. */
export class Networks {
  readonly #list = new BlockList();
  readonly #prefixes: readonly string[];

  /** Throws an Error with one sentence for what is no prefix. */
  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes;
    for (const prefix of prefixes) this.#add(prefix);
  }

  get isEmpty(): boolean {
    return this.#prefixes.length === 0;
  }

  toString(): string {
    return this.#prefixes.join(", ");
  }

  /** Whether a canonical address is in one of the networks. */
  has(address: string): boolean {
    return this.#list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  }

  #add(prefix: string): void {
    const [address = "", length = "", ...rest] = prefix.split("/");
    const family = address.includes("%") ? 0 : isIP(address);
    const bits = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
    if (family === 0 || rest.length > 0 || !(bits <= (family === 6 ? 128 : 32))) {
      throw new Error(`"${prefix}" is not a network such as 10.0.0.0/16`);
    }
    this.#list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  }
}

/** Addresses that no machine can have as its own: loopback, link-local, multicast, unspecified. */
export const UNUSABLE_NETWORKS = new Networks([
  ...["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"],
  ...["::/128", "::1/128", "fe80::/10", "ff00::/8"],
]);

const LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`);

/** Whether the API accepts it as the name of a Node; no wildcard, no capitals. */
export function isNodeName(name: string): boolean {
  return name.length <= 253 && SUBDOMAIN.test(name);
}

const RESERVED =
  /^(localhost|kubernetes|openshift|api|api-int)$|\.localhost$|(^|\.)default(\.svc.*)?$|\.svc$|\.cluster\.local$/;

/** Whether a certificate for the name could impersonate a service of the control plane. */
export function isReservedName(name: string, alsoReserved: readonly string[]): boolean {
  const plain = name.toLowerCase().replace(/\.$/, "");
  return RESERVED.test(plain) || alsoReserved.some((other) => other.toLowerCase().replace(/\.$/, "") === plain);
}

/** Addresses and prefixes as the bridge compares them; strict where the libraries are generous (no octal, no short forms). */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type AddressFamily = 4 | 6;

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;

export interface Network {
  readonly text: string;
  readonly family: AddressFamily;
  contains(address: string): boolean;
  /** The first address a host can have there. */
  readonly firstHost: string;
}

/** The family of a plain address; undefined for anything else, also for `address%interface`. */
export function familyOf(text: string): AddressFamily | undefined {
  const family = text.includes("%") ? 0 : isIP(text);
  return family === 0 ? undefined : (family as AddressFamily);
}

/** One spelling for one address, so that texts can be compared. */
export function canonical(address: string): string {
  return ipaddr.parse(address).toString();
}

export function sameAddress(a: string, b: string): boolean {
  return canonical(a) === canonical(b);
}

/** Undefined when the text is no prefix. Host bits may be set: `10.0.0.7/16` is the network `10.0.0.0/16`. */
export function parseNetwork(text: string): Network | undefined {
  const [address = "", length = "", ...rest] = text.split("/");
  const family = familyOf(address);
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  const width = family === 6 ? 128 : 32;
  if (family === undefined || rest.length > 0 || !(bits <= width)) return undefined;
  const version = family === 6 ? ipaddr.IPv6 : ipaddr.IPv4;
  const network = version.networkAddressFromCIDR(`${address}/${bits}`);
  return {
    text: `${network.toString()}/${bits}`,
    family,
    contains: (other) =>
      familyOf(other) === family &&
      version.networkAddressFromCIDR(`${other}/${bits}`).toString() === network.toString(),
    // In a network of two or of one there is no address to skip.
    firstHost: bits >= width - 1 ? network.toString() : successor(network).toString(),
  };
}

/** Of a network address, whose last bit is always clear here. */
function successor(network: Parsed): Parsed {
  const bytes = network.toByteArray();
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return ipaddr.fromByteArray(bytes);
}

/** IP addresses and prefixes as rules, identifiers and NO_PROXY write them, in the forms that Go takes. */
import ipaddr from "ipaddr.js";
import { canonicalAddress } from "./destination.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface Prefix {
  readonly address: Address;
  readonly length: number;
}

/** Undefined: it is not an address. An IPv4 address inside an IPv6 one counts as IPv4. */
export function parseAddress(text: string): Address | undefined {
  return canonicalAddress(text) === undefined ? undefined : ipaddr.process(text);
}

/** `10.0.0.0/8`, or an address alone, which is a prefix of its whole length. Undefined: it is neither. */
export function parsePrefix(text: string): Prefix | undefined {
  const [host = "", bits, more] = text.split("/");
  const address = parseAddress(host);
  if (address === undefined || more !== undefined) return undefined;
  const whole = wholeLength(address);
  if (bits === undefined) return { address, length: whole };
  // An IPv4 network written as IPv6 counts from the 96th bit on.
  const length = Number(bits) - (whole === 32 && host.includes(":") ? 96 : 0);
  return /^\d{1,3}$/.test(bits) && length >= 0 && length <= whole ? { address, length } : undefined;
}

export function wholeLength(address: Address): number {
  return address.kind() === "ipv4" ? 32 : 128;
}

export function covers({ address: network, length }: Prefix, address: Address): boolean {
  return network.kind() === address.kind() && (address as ipaddr.IPv4).match(network as ipaddr.IPv4, length);
}

/** Which of a name's addresses is tried first: the gist of RFC 6724. */
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { judgedHost } from "../wire/destination.js";

/**
 * IPv6 first where this host has an address of the same kind (global, unique local, link-local, loopback) to come from,
 * then IPv4, then the IPv6 addresses that it has not. Within a family as they were found.
 */
export function ordered(addresses: readonly string[], own: () => readonly string[] = ownAddresses): readonly string[] {
  const four = addresses.filter((address) => isIPv4(address));
  if (four.length === 0 || four.length === addresses.length) return addresses;
  const kinds = new Set(own().map(kindOf));
  const six = addresses.filter((address) => !isIPv4(address));
  return [
    ...six.filter((address) => kinds.has(kindOf(address))),
    ...four,
    ...six.filter((address) => !kinds.has(kindOf(address))),
  ];
}

function kindOf(address: string): string {
  return isIPv4(address) ? "ipv4" : ipaddr.IPv6.parse(judgedHost(address)).range();
}

/** Interfaces rarely change, and a node has hundreds of them. */
const REMEMBERED_MS = 5_000;
let known: readonly string[] = [];
let knownAt = Number.NEGATIVE_INFINITY;

function ownAddresses(): readonly string[] {
  const now = performance.now();
  if (now - knownAt >= REMEMBERED_MS) {
    knownAt = now;
    known = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  }
  return known;
}

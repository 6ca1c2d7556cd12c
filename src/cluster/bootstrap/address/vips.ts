/** Which addresses of a host are not its own for good: virtual addresses that move to another host. */
import type { HostAddress } from "./host-network.js";
import { sameAddress } from "./ip.js";

/** Why the address is taken for a virtual one; undefined when it is the host's own. */
export function virtualBecause(own: HostAddress, all: readonly HostAddress[]): string | undefined {
  if (own.origin === "keepalived") return `keepalived added it to ${own.device}`;
  if (own.label?.endsWith(":vip")) return `it carries the label ${own.label}`;
  if (own.family === 4 && own.marks.has("secondary")) return `it is a secondary address of ${own.device}`;
  if (isHostPrefix(own) && isBesideNetworkAddress(own, all)) {
    return `it is a single address (/${own.prefixLength}) beside the network address of ${own.device}, as keepalived adds them`;
  }
  return undefined;
}

function isHostPrefix({ family, prefixLength, marks }: HostAddress): boolean {
  // A DHCPv6 server also hands out /128 beside the router's /64; those are leases, and nothing keepalived adds is one.
  return family === 4 ? prefixLength === 32 : prefixLength === 128 && !marks.has("dynamic");
}

/** A cloud that gives its machines a /32 gives them nothing else on that interface. */
function isBesideNetworkAddress(own: HostAddress, all: readonly HostAddress[]): boolean {
  return all.some(
    (other) =>
      other.device === own.device &&
      other.family === own.family &&
      other.prefixLength < own.prefixLength &&
      !other.marks.has("temporary"),
  );
}

/** Addresses a certificate may name: the host's own, usable, and still its own tomorrow. */
export function lastingAddresses(all: readonly HostAddress[], vips: readonly string[]): HostAddress[] {
  const passing = ["deprecated", "temporary", "tentative", "dadfailed"];
  return all.filter(
    (own) =>
      !passing.some((mark) => own.marks.has(mark)) &&
      virtualBecause(own, all) === undefined &&
      !vips.some((vip) => sameAddress(vip, own.address)),
  );
}

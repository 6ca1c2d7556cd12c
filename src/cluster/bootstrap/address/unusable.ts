/** Why an address must not become the agents' target; pure, so that every refusal can be shown. */
import ipaddr from "ipaddr.js";
import type { HostAddress } from "./host-network.js";
import { type Family, familyOf, type Prefix, sameAddress } from "./ip.js";
import { virtualBecause } from "./vips.js";

export interface Circumstances {
  /** What the cluster's service networks speak; all of them when nothing is known. */
  readonly families: readonly Family[];
  /** None: not known, so nothing is outside of them. */
  readonly machineNetworks: readonly Prefix[];
  /** Addresses given as virtual: apiVIPs, ingressVIPs. */
  readonly vips: readonly string[];
  readonly hostAddresses: readonly HostAddress[];
}

const KINDS: Readonly<Record<string, string>> = {
  loopback: "it is a loopback address, which only this host can reach",
  linkLocal: "it is a link-local address, which pods cannot route to",
  unspecified: "it is the unspecified address",
  multicast: "it is a multicast address",
  broadcast: "it is the broadcast address",
  ipv4Mapped: "it is an IPv4 address written as IPv6",
};

/** The end of a sentence that starts with the address; undefined when it can be used. */
export function unusableBecause(text: string, circumstances: Circumstances): string | undefined {
  const family = familyOf(text);
  if (family === undefined) return notAnAddress(text);
  const kind = KINDS[ipaddr.parse(text).range()];
  if (kind !== undefined) return kind;
  const { families, machineNetworks, vips, hostAddresses } = circumstances;
  if (!families.includes(family))
    return `it is IPv${family}, and the service network is IPv${families.join(" and IPv")}`;
  if (vips.some((vip) => sameAddress(vip, text))) {
    return "it is a virtual address of the cluster (VIP), which moves to another host before the bridge is taken down";
  }
  const own = hostAddresses.find(({ address }) => sameAddress(address, text));
  const virtual = own && virtualBecause(own, hostAddresses);
  if (virtual !== undefined) return `it looks like a virtual address (VIP): ${virtual}`;
  if (machineNetworks.length > 0 && !machineNetworks.some((network) => network.contains(text))) {
    return `it is outside the machine networks ${machineNetworks.map((network) => network.text).join(", ")}`;
  }
  return undefined;
}

function notAnAddress(text: string): string {
  if (text.trim() === "" || text === "null") return "it is empty";
  if (text.includes("%")) return "an address with an interface behind it means something on this host only";
  if (/^\[.*\]$/.test(text)) return "an IPv6 address stands without brackets here";
  if (text.includes("/")) return "an address stands without a prefix length here";
  if (/^[\d.]+:\d+$/.test(text)) return "an address stands without a port here";
  if (/^[\d.]+$/.test(text) || text.includes(":")) return "it is not an IP address";
  // api-int resolves to a load balancer or VIP whose backends move to the control-plane nodes during bootstrap.
  return "it is a name, and names of load balancers (api, api-int) lead to other hosts before the bridge is taken down";
}

/** What the manifests in a bootstrap.ign say about addresses, for the script that has to find the host's own. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { at, isRecord, listOf } from "../../../base/at.js";
import type { IgnitionConfig } from "./ignition-config.js";
import { manifestAt, yamlObject } from "./manifest-reading.js";

export interface ClusterFacts {
  /** Agents dial an address of the family of the first service network. */
  readonly family: 4 | 6;
  /** CIDRs. */
  readonly machineNetworks: readonly string[];
  /** An address inside each of them. */
  readonly probes: readonly string[];
  /** Virtual addresses of API and ingress: they move, so nothing may dial the bootstrap host by them. */
  readonly sharedIps: readonly string[];
  readonly fips: boolean;
}

const MANIFESTS = "/opt/openshift/manifests";

/** A manifest that cannot be read leaves its facts unknown; the script then asks the routing table alone. */
export function clusterFacts(config: IgnitionConfig): ClusterFacts {
  const network = manifestAt(config, `${MANIFESTS}/cluster-network-02-config.yml`);
  const infrastructure = manifestAt(config, `${MANIFESTS}/cluster-infrastructure-02-config.yml`);
  const installConfig = yamlObject(
    at(manifestAt(config, `${MANIFESTS}/cluster-config.yaml`), "data", "install-config"),
  );
  const networks = listOf(at(installConfig, "networking", "machineNetwork"))
    .map((entry) => at(entry, "cidr"))
    .flatMap(asNetwork);
  const [firstService] = listOf(at(network, "spec", "serviceNetwork")).filter((entry) => typeof entry === "string");
  return {
    family: firstService?.includes(":") ? 6 : 4,
    machineNetworks: networks.map(({ cidr }) => cidr),
    probes: networks.map(({ probe }) => probe),
    sharedIps: sharedIps(at(infrastructure, "status", "platformStatus")),
    fips: at(installConfig, "fips") === true,
  };
}

/** Every platform has them in an object of its own name, in one field or in a list. */
function sharedIps(platformStatus: unknown): string[] {
  const platforms = Object.values(isRecord(platformStatus) ? platformStatus : {}).filter(isRecord);
  const found = platforms.flatMap((platform) => [
    ...["apiServerInternalIP", "ingressIP"].map((name) => platform[name]),
    ...["apiServerInternalIPs", "ingressIPs"].flatMap((name) => listOf(platform[name])),
  ]);
  const addresses = found.filter((ip): ip is string => typeof ip === "string" && isIP(ip) !== 0);
  // Spelt as the kernel spells them.
  return [...new Set(addresses.map((ip) => ipaddr.parse(ip).toString()))];
}

function asNetwork(cidr: unknown): { cidr: string; probe: string }[] {
  if (typeof cidr !== "string" || !ipaddr.isValidCIDR(cidr)) return [];
  const [address, bits] = ipaddr.parseCIDR(cidr);
  const base = kindOf(address).networkAddressFromCIDR(cidr).toByteArray();
  // The first host where there is room for hosts.
  if (bits < base.length * 8) base[base.length - 1]! |= 1;
  return [{ cidr: `${address}/${bits}`, probe: ipaddr.fromByteArray(base).toString() }];
}

const kindOf = (address: ipaddr.IPv4 | ipaddr.IPv6) => (address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6);

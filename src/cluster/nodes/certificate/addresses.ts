/** For whom the Ignition server's certificate is: the addresses that machines are told. */
import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { isClusterObject } from "../controller/cluster-object.js";
import { type ConfigMap, nameOf, pathOf } from "../objects.js";

export interface PublishedAddresses {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Of all clusters that name no authority of their own; a cluster that does has its certificate from there. */
export function publishedAddresses(maps: Iterable<ConfigMap>): PublishedAddresses {
  const hosts = new Set<string>();
  for (const map of maps) {
    if (!isClusterObject(map) || map.data?.ignitionCA?.trim()) continue;
    const { ignitionAddresses = "", ignitionEndpoint = "" } = map.data ?? {};
    for (const address of [ignitionEndpoint, ...ignitionAddresses.split(/[\s,]+/)]) {
      if (address.trim() !== "") hosts.add(hostOf(address.trim(), map));
    }
  }
  const sorted = [...hosts].sort();
  return {
    dnsNames: sorted.filter((host) => isIP(host) === 0),
    ipAddresses: sorted.filter((host) => isIP(host) !== 0),
  };
}

/** Without port and brackets, in the one spelling that certificates have. */
function hostOf(address: string, map: ConfigMap): string {
  const url = isIP(address) === 6 ? `https://[${address}]` : `https://${address}`;
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  if (host === "" || /[/@?#]/.test(address)) {
    throw new DrawbridgeError(
      "DB_NODEPOOL",
      `ConfigMap ${pathOf(nameOf(map))} publishes the Ignition server at "${address}", which is neither a name nor an address`,
    );
  }
  return host;
}

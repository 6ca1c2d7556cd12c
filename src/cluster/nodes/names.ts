/** Names and annotations that HyperShift's own parts look for. */
import type { ObjectName } from "./objects.js";

const group = "hypershift.openshift.io";

export const annotation = {
  /** `namespace/name` of the pool, on everything that belongs to it. */
  nodePool: `${group}/nodePool`,
  ignitionConfig: `${group}/ignition-config`,
  upgradeType: `${group}/node-pool-upgrade-type`,
  tokenGenerated: `${group}/last-token-generation-time`,
  ignitionReached: `${group}/ignition-reached`,
  tokenExpires: `${group}/ignition-token-expiration-timestamp`,
  currentConfig: `${group}/nodePoolCurrentConfig`,
  currentConfigVersion: `${group}/nodePoolCurrentConfigVersion`,
} as const;

export const finalizer = `${group}/finalizer`;

export const label = {
  coreConfig: `${group}/core-ignition-config`,
  tuningConfig: `${group}/nto-generated-machine-config`,
  nodePool: `${group}/nodePool`,
} as const;

/** The Ignition server's certificate (`tls.crt`, `tls.key`), and who signed it: ours, where no HyperShift has its own. */
export const servingCertificateSecret = "drawbridge-ignition-serving-cert";
export const ignitionCaSecret = "drawbridge-ignition-ca";

/** Where a hosted cluster's control plane lives. */
export function controlPlaneNamespace({ namespace, name }: ObjectName): string {
  return `${namespace}-${name.replaceAll(".", "-")}`;
}

export function tokenSecretName(pool: string, hash: string): string {
  return `token-${pool}-${hash}`;
}

export function userDataSecretName(pool: string, hash: string): string {
  return `user-data-${pool}-${hash}`;
}

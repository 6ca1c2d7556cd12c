/** Names and annotations that HyperShift's own parts look for. */
import type { ObjectName } from "./objects.js";

const GROUP = "hypershift.openshift.io";

export const annotation = {
  /** `namespace/name` of the pool, on everything that belongs to it. */
  nodePool: `${GROUP}/nodePool`,
  ignitionConfig: `${GROUP}/ignition-config`,
  upgradeType: `${GROUP}/node-pool-upgrade-type`,
  tokenGenerated: `${GROUP}/last-token-generation-time`,
  ignitionReached: `${GROUP}/ignition-reached`,
  tokenExpires: `${GROUP}/ignition-token-expiration-timestamp`,
  currentConfig: `${GROUP}/nodePoolCurrentConfig`,
  currentConfigVersion: `${GROUP}/nodePoolCurrentConfigVersion`,
} as const;

export const finalizer = `${GROUP}/finalizer`;

export const label = {
  coreConfig: `${GROUP}/core-ignition-config`,
  tuningConfig: `${GROUP}/nto-generated-machine-config`,
  nodePool: `${GROUP}/nodePool`,
} as const;

/** The Ignition server's certificate (`tls.crt`, `tls.key`), and who signed it: ours, where no HyperShift has its own. */
export const SERVING_CERTIFICATE_SECRET = "drawbridge-ignition-serving-cert";
export const IGNITION_CA_SECRET = "drawbridge-ignition-ca";

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

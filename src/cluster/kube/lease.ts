import { collectionPath } from "./paths.js";
import type { KubeObject, ObjectMeta } from "./port.js";

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often the holder changed. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly metadata?: ObjectMeta;
  readonly spec?: LeaseSpec;
}

export function leasesPath(namespace: string): string {
  return collectionPath("Lease", namespace);
}

export function leasePath(namespace: string, name: string): string {
  return `${leasesPath(namespace)}/${encodeURIComponent(name)}`;
}

/** Whether its holder renewed it in time. A lease that lacks a time or a duration promises nothing, so it is not valid. */
export function isLeaseValid({ spec }: Lease, now: number): boolean {
  const since = Date.parse(spec?.renewTime ?? spec?.acquireTime ?? "");
  const seconds = spec?.leaseDurationSeconds;
  if (Number.isNaN(since) || typeof seconds !== "number") return false;
  return since + seconds * 1000 > now;
}

/** The API's MicroTime: always six digits after the point. */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}

import { collectionPath, typed } from "./paths.js";
import type { KubeObject } from "./port.js";

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    /** How often the holder changed. */
    readonly leaseTransitions?: number;
  };
}

export function leasesPath(namespace: string): string {
  return collectionPath("Lease", namespace);
}

export function leasePath(namespace: string, name: string): string {
  return `${leasesPath(namespace)}/${encodeURIComponent(name)}`;
}

/** What the holder promises; undefined for a lease that lacks a time or a duration, and so promises nothing. */
export function leasePromise({ spec }: Lease): { readonly since: number; readonly durationMs: number } | undefined {
  const since = Date.parse(spec?.renewTime ?? spec?.acquireTime ?? "");
  const seconds = spec?.leaseDurationSeconds;
  if (Number.isNaN(since) || typeof seconds !== "number") return undefined;
  return { since, durationMs: seconds * 1000 };
}

/** Whether its holder renewed it in time, by the holder's clock and this host's. */
export function isLeaseValid(lease: Lease, now: number): boolean {
  const promise = leasePromise(lease);
  return promise !== undefined && promise.since + promise.durationMs > now;
}

/** The lease as its holder writes it to say that it holds the lease from now on for so many seconds. */
export function renewedLease(lease: Lease, holderIdentity: string, leaseDurationSeconds: number, now: number): Lease {
  const spec = { ...lease.spec, holderIdentity, leaseDurationSeconds, renewTime: microTime(now) };
  return { ...typed("Lease", lease), spec };
}

/** The API's MicroTime: always six digits after the point. */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}

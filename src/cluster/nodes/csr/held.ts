/** Names and addresses that serving certificates hold, from their approval until they end. */
import { canonicalAddress } from "./addresses.js";
import type { Remembered } from "./memory.js";

/** All certificates of one node that are for the same names count as one. */
export interface Held {
  /** Sorted: `DNS:w0`, `IP:10.0.0.1`. */
  readonly names: readonly string[];
  /** Uid of the last one that was approved, while its certificate has not been seen. */
  readonly request?: string;
  /** When the last of those that were seen ends; 0 when none was. */
  readonly until: number;
  /** A certificate may be out there whose end nobody saw. */
  readonly lost?: true;
}

export function heldBy({ held, serving }: Remembered): readonly Held[] {
  // Before ends were remembered, names were remembered alone.
  return held ?? (serving === undefined ? [] : [{ names: serving.names, until: 0, lost: true }]);
}

export function isAlive({ lost, request, until }: Held, now: number): boolean {
  return lost === true || request !== undefined || until > now;
}

/** With one more request that is approved. */
export function withApproval(held: readonly Held[], request: string, names: readonly string[]): readonly Held[] {
  const same = held.find((one) => isSame(one.names, names));
  const isLost = same?.lost || (same?.request !== undefined && same.request !== request);
  const entry: Held = { names, request, until: same?.until ?? 0, ...(isLost ? { lost: true } : {}) };
  return [...held.filter((one) => one !== same), entry];
}

export interface IssuedCertificate {
  readonly names: readonly string[];
  readonly until: number;
}

/** With one more certificate that was issued; the same list when it says nothing new. */
export function withCertificate(held: readonly Held[], request: string, issued: IssuedCertificate): readonly Held[] {
  const { names, until } = issued;
  const same = held.find((one) => isSame(one.names, names));
  const isNews = held.some((one) => one.request === request) || (same?.until ?? 0) < until;
  if (!isNews) return held;
  const others = held.filter((one) => one !== same).map((one) => (one.request === request ? withoutRequest(one) : one));
  const seen = same?.request === request ? withoutRequest(same) : same;
  return [...others, { ...seen, names, until: Math.max(until, seen?.until ?? 0) }];
}

/** For a request that was denied or that failed after all. */
export function withoutApproval(held: readonly Held[], request: string): readonly Held[] {
  if (!held.some((one) => one.request === request)) return held;
  return held.map((one) => (one.request === request ? withoutRequest(one) : one));
}

function withoutRequest({ request: _, ...rest }: Held): Held {
  return rest;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.join() === b.join();
}

/** `DNS:w0`, `IP:10.0.0.1`, in one spelling, sorted, each once. */
export function spelled(names: readonly string[]): string[] {
  const all = names.map((name) => {
    const address = name.startsWith("IP:") ? canonicalAddress(name.slice("IP:".length)) : undefined;
    return address === undefined ? name : `IP:${address}`;
  });
  return [...new Set(all)].sort();
}

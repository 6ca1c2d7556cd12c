/** The memory of the approver: requests are deleted an hour after they were decided, but certificates last for years. */

import { plainAddress } from "./names.js";

interface Approval {
  /** Name of the request. */
  readonly request: string;
  readonly at: number;
}

export interface NodeRecord {
  /** `namespace/name`. */
  readonly pool: string;
  readonly client?: Approval;
  readonly renewal?: Approval;
  /** The last approval of a serving certificate and its names, sorted: `DNS:w0`, `IP:10.0.0.1`. */
  readonly serving?: Approval & { readonly names: readonly string[] };
  /** Names that its serving certificates hold, as far as these have not ended. */
  readonly held?: readonly HeldNames[];
  /** When its Node was first seen. */
  readonly joinedAt?: number;
  /** When its Node was first Ready. */
  readonly readyAt?: number;
  /** When its machine was installed again, if it was: what is said here is about that one. */
  readonly installation?: number;
  /** The configuration that the Ignition server sent it last. */
  readonly served?: { readonly hash: string; readonly at: number };
  /** Since when there is neither a Node nor an entry of that name. */
  readonly goneSince?: number;
}

/** The records of nodes by name. */
export type Memory = ReadonlyMap<string, NodeRecord>;

/** One line a node, as it is kept in a ConfigMap. */
export function writeMemory(memory: Memory): Record<string, string> {
  return Object.fromEntries(
    [...memory].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, JSON.stringify(of)]),
  );
}

/** Throws for a record that cannot be read: a forgotten approval would be given a second time. */
export function readMemory(data: Readonly<Record<string, string>> = {}): Memory {
  const memory = new Map<string, NodeRecord>();
  for (const [name, text] of Object.entries(data)) {
    const parsed = JSON.parse(text) as NodeRecord;
    if (typeof parsed?.pool !== "string") throw new Error(`what is kept about ${name} has no pool`);
    memory.set(name, parsed);
  }
  return memory;
}

const KEPT_AFTER_GONE_MS = 7 * 24 * 60 * 60_000;

interface NodePresence {
  readonly hasNode: boolean;
  readonly isExpected: boolean;
  /** Whether its Node is Ready, where that is of interest. */
  readonly isReady?: boolean;
  readonly now: number;
}

/** What is left of a record when the machine was installed again at that time; the same record if it says so already. */
export function sinceReinstall(of: NodeRecord, at: number | undefined): NodeRecord {
  if (at === undefined || of.installation === at) return of;
  const { client: _, joinedAt: __, readyAt: ___, renewal: ____, serving: _____, ...rest } = of;
  return { ...rest, installation: at };
}

/** A node's record after its Node came or went and certificates expired; undefined when nothing changed. */
export function updatedRecord(
  of: NodeRecord,
  { hasNode, isExpected, isReady = false, now }: NodePresence,
): NodeRecord | "forget" | undefined {
  const alive = heldNamesOf(of).filter((one) => isInForce(one, now));
  if (alive.length < heldNamesOf(of).length) {
    const change = updatedRecord({ ...of, held: alive }, { hasNode, isExpected, isReady, now });
    return change ?? { ...of, held: alive };
  }
  const { goneSince, ...present } = of;
  if (hasNode || isExpected) {
    const joins = hasNode && of.client !== undefined && of.joinedAt === undefined;
    const isFirstReady = isReady && (joins || of.joinedAt !== undefined) && of.readyAt === undefined;
    if (joins || isFirstReady) {
      return { ...present, joinedAt: of.joinedAt ?? now, ...(isFirstReady && { readyAt: now }) };
    }
    return goneSince === undefined ? undefined : present;
  }
  if (goneSince === undefined) return { ...of, goneSince: now };
  // A node that was deleted comes back by itself, with certificates that are good for a long time.
  return now - goneSince > KEPT_AFTER_GONE_MS ? "forget" : undefined;
}

/**
 * Names and addresses that a node's serving certificates hold, from their approval until they expire. Certificates for the
 * same names count as one.
 */
export interface HeldNames {
  /** Sorted: `DNS:w0`, `IP:10.0.0.1`. */
  readonly names: readonly string[];
  /** Uid of the last one that was approved, while its certificate has not been seen. */
  readonly request?: string;
  /** When the last of those that were seen ends; 0 when none was. */
  readonly until: number;
  /** A certificate may be out there whose end nobody saw. */
  readonly lost?: true;
}

export function heldNamesOf({ held, serving }: NodeRecord): readonly HeldNames[] {
  // Before ends were remembered, names were remembered alone.
  return held ?? (serving === undefined ? [] : [{ names: serving.names, until: 0, lost: true }]);
}

export function isInForce({ lost, request, until }: HeldNames, now: number): boolean {
  return lost === true || request !== undefined || until > now;
}

/** The held names after one more approval. */
export function withApproval(held: readonly HeldNames[], request: string, names: readonly string[]) {
  const same = held.find((one) => isSame(one.names, names));
  const isLost = same?.lost || (same?.request !== undefined && same.request !== request);
  const entry: HeldNames = { names, request, until: same?.until ?? 0, ...(isLost ? { lost: true } : {}) };
  return [...held.filter((one) => one !== same), entry];
}

/** The held names after one more certificate was issued; the same list when nothing changed. */
export function withCertificate(
  held: readonly HeldNames[],
  request: string,
  issued: Pick<HeldNames, "names" | "until">,
) {
  const { names, until } = issued;
  const same = held.find((one) => isSame(one.names, names));
  const isNews = held.some((one) => one.request === request) || (same?.until ?? 0) < until;
  if (!isNews) return held;
  const others = held.filter((one) => one !== same).map((one) => (one.request === request ? withoutRequest(one) : one));
  const seen = same?.request === request ? withoutRequest(same) : same;
  return [...others, { ...seen, names, until: Math.max(until, seen?.until ?? 0) }];
}

/** The held names after an approved request was denied or failed. */
export function withoutApproval(held: readonly HeldNames[], request: string): readonly HeldNames[] {
  if (!held.some((one) => one.request === request)) return held;
  return held.map((one) => (one.request === request ? withoutRequest(one) : one));
}

function withoutRequest({ request: _, ...rest }: HeldNames): HeldNames {
  return rest;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.join() === b.join();
}

/** `DNS:w0`, `IP:10.0.0.1`, in one spelling, sorted, each once. */
export function canonicalNames(names: readonly string[]): string[] {
  const all = names.map((name) => {
    const address = name.startsWith("IP:") ? plainAddress(name.slice("IP:".length)) : undefined;
    return address === undefined ? name : `IP:${address}`;
  });
  return [...new Set(all)].sort();
}

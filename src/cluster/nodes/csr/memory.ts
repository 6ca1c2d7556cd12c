/** What the approver must not forget: requests are gone an hour after they were decided, certificates live for years. */
import { type Held, heldBy, isAlive } from "./held.js";

export interface Approval {
  /** Name of the request. */
  readonly request: string;
  readonly at: number;
}

export interface Remembered {
  /** `namespace/name`. */
  readonly pool: string;
  readonly client?: Approval;
  readonly renewal?: Approval;
  /** With the names that were approved, sorted: `DNS:w0`, `IP:10.0.0.1`. */
  readonly serving?: Approval & { readonly names: readonly string[] };
  /** What its serving certificates hold, as far as they have not ended. */
  readonly held?: readonly Held[];
  /** When its Node was first seen. */
  readonly joinedAt?: number;
  /** Since when there is neither a Node nor an entry of that name. */
  readonly goneSince?: number;
}

/** By node name. */
export type Memory = ReadonlyMap<string, Remembered>;

/** One line a node, as it is kept in a ConfigMap. */
export function writeMemory(memory: Memory): Record<string, string> {
  return Object.fromEntries(
    [...memory].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, JSON.stringify(of)]),
  );
}

/** What cannot be read is reported and not guessed at: a forgotten approval would be given a second time. */
export function readMemory(data: Readonly<Record<string, string>> = {}): Memory {
  const memory = new Map<string, Remembered>();
  for (const [name, text] of Object.entries(data)) {
    const parsed = JSON.parse(text) as Remembered;
    if (typeof parsed?.pool !== "string") throw new Error(`what is kept about ${name} has no pool`);
    memory.set(name, parsed);
  }
  return memory;
}

const KEPT_AFTER_GONE_MS = 7 * 24 * 60 * 60_000;

/** What there is to note about a node now: the record with its change, `forget`, or undefined for nothing. */
export function tended(
  of: Remembered,
  { hasNode, isExpected, now }: { hasNode: boolean; isExpected: boolean; now: number },
): Remembered | "forget" | undefined {
  const alive = heldBy(of).filter((one) => isAlive(one, now));
  if (alive.length < heldBy(of).length) {
    const change = tended({ ...of, held: alive }, { hasNode, isExpected, now });
    return change ?? { ...of, held: alive };
  }
  const { goneSince, ...present } = of;
  if (hasNode || isExpected) {
    const joins = hasNode && of.client !== undefined && of.joinedAt === undefined;
    if (joins) return { ...present, joinedAt: now };
    return goneSince === undefined ? undefined : present;
  }
  if (goneSince === undefined) return { ...of, goneSince: now };
  // A node that was deleted comes back by itself, with certificates that are good for a long time.
  return now - goneSince > KEPT_AFTER_GONE_MS ? "forget" : undefined;
}

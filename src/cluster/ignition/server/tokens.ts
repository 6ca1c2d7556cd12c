/** The payload that each token opens. Kept in memory only: a restart fills it again from the token Secrets. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

/** What a token opens, and what is recorded about the machine that presents it. */
export interface Grant {
  /** Called for each machine that comes: one made for a single machine need not be kept for all of them. */
  readonly payload: () => Payload;
  /** The Secret the token is from; going away, it takes its tokens along. */
  readonly secret: string;
  /** `namespace/name`. */
  readonly pool: string;
  /** Only tokens that were made for one machine name it. */
  readonly worker?: string;
}

interface Entry {
  readonly grant: Grant;
  readonly until: number;
}

/** Twice the time between rotations: a token is good while it is the newest and while it is the one before. */
export const TOKEN_LIFE_MS = 11 * 60 * 60 * 1000;

export class TokenStore {
  /** By digest: how long a look-up takes says nothing about the tokens that are here. */
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  /** By a clock that nobody sets: all that is kept here are durations. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A token that is admitted again keeps the end of its life. */
  admit(token: string, grant: Grant, lifeMs = TOKEN_LIFE_MS): void {
    // A Secret without its token must not let everyone in who sends none.
    if (token === "") return;
    const key = digestOf(token);
    const [now, known = 0] = [this.#now(), this.#entries.get(key)?.until];
    this.#entries.set(key, { grant, until: known > now ? known : now + lifeMs });
  }

  find(token: string): Grant | undefined {
    const key = digestOf(token);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#now()) return entry.grant;
    this.#entries.delete(key);
    return undefined;
  }

  revoke(token: string): void {
    this.#entries.delete(digestOf(token));
  }

  revokeSecret(secret: string): void {
    this.revokeOthers((grant) => grant.secret === secret, []);
  }

  /** Of the tokens with such a grant only these stay. */
  revokeOthers(isMeant: (grant: Grant) => boolean, staying: readonly string[]): void {
    const kept = new Set(staying.map((token) => digestOf(token)));
    for (const [key, { grant }] of this.#entries) if (isMeant(grant) && !kept.has(key)) this.#entries.delete(key);
  }

  /** Forgets what has run out; tokens nobody asks for would stay otherwise. */
  sweep(): void {
    const now = this.#now();
    for (const [key, { until }] of this.#entries) if (until <= now) this.#entries.delete(key);
  }
}

function digestOf(...pieces: readonly (Buffer | string)[]): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

/** An Ignition config as it is sent: prepared once, not for each of a thousand machines. */
export interface Payload {
  /** Behind each other; most of them are shared by many machines. */
  readonly pieces: readonly Buffer[];
  readonly length: number;
  /** Made when the first machine asks for it: Ignition itself never does. */
  readonly compressed: Buffer;
  readonly etag: string;
  /** False: it is not an Ignition config, and no machine gets it. */
  readonly usable: boolean;
}

export function makePayload(text: string): Payload {
  const body = Buffer.from(text);
  return payloadOf([body], digestOf(body), isConfig(text));
}

/** A payload that differs from machine to machine in one place; making one more costs next to nothing. */
export function payloadTemplate(before: string, after: string): (between: string) => Payload {
  const [head, tail] = [Buffer.from(before), Buffer.from(after)];
  const digest = digestOf(head, tail);
  const usable = isConfig(before + after);
  return (between) => {
    const own = Buffer.from(between);
    return payloadOf([head, own, tail], digestOf(Buffer.from(digest), own), usable);
  };
}

function payloadOf(pieces: readonly Buffer[], digest: string, usable: boolean): Payload {
  let compressed: Buffer | undefined;
  return {
    pieces,
    length: pieces.reduce((sum, { length }) => sum + length, 0),
    get compressed() {
      compressed ??= gzipSync(Buffer.concat(pieces));
      return compressed;
    },
    etag: `"${digest.slice(0, 32)}"`,
    usable,
  };
}

/** What the original looks at before it hands a payload out; whether it is a *good* config was judged when it was made. */
function isConfig(text: string): boolean {
  try {
    const { ignition } = JSON.parse(text) as { ignition?: { version?: unknown } };
    return typeof ignition?.version === "string";
  } catch {
    return false;
  }
}

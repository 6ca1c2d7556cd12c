/** Which token stands for which payload. Kept in memory only: a restart fills it again from the token Secrets. */
import { createHash } from "node:crypto";
import type { Payload } from "./payload.js";

/** What a token opens, and what is said about whoever comes with it. */
export interface Grant {
  readonly payload: Payload;
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

export class TokenBook {
  /** By digest: how long a look-up takes says nothing about the tokens that are here. */
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  admit(token: string, grant: Grant, lifeMs = TOKEN_LIFE_MS): void {
    // A Secret without its token must not let everyone in who sends none.
    if (token === "") return;
    this.#entries.set(digestOf(token), { grant, until: this.#now() + lifeMs });
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
    for (const [key, { grant }] of this.#entries) if (grant.secret === secret) this.#entries.delete(key);
  }

  /** Forgets what has run out; tokens nobody asks for would stay otherwise. */
  sweep(): void {
    const now = this.#now();
    for (const [key, { until }] of this.#entries) if (until <= now) this.#entries.delete(key);
  }
}

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

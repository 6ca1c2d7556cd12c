/** Sessions of pages: whoever has shown the token gets a cookie instead, which no script can read. */
import { createHash, randomBytes } from "node:crypto";

const MAX_SESSIONS = 64;
const LIFETIME_MS = 12 * 60 * 60_000;

export interface PageSession {
  readonly expiresAt: number;
  /** Of the token that opened it: another token in the file ends it. */
  readonly tokenDigest: string;
}

export class Sessions {
  /** Cookies do not know ports: two processes on one host must not take each other's. */
  readonly cookieName: string;
  /** By digest, oldest first: what is in memory opens nothing. */
  readonly #sessions = new Map<string, PageSession>();
  readonly #now: () => number;

  constructor(instance: string, now: () => number = Date.now) {
    this.cookieName = `drawbridge-${instance}`;
    this.#now = now;
  }

  /** The value of Set-Cookie. */
  open(tokenDigest: string, secure: boolean): string {
    const id = randomBytes(32).toString("base64url");
    this.#sessions.set(digest(id), { expiresAt: this.#now() + LIFETIME_MS, tokenDigest });
    if (this.#sessions.size > MAX_SESSIONS) this.#sessions.delete(this.#sessions.keys().next().value!);
    return this.#cookie(id, LIFETIME_MS / 1000, secure);
  }

  /** Looked up by digest, so that the time it takes tells nothing about any session's id. */
  find(cookies: string | undefined, tokenDigest: string): PageSession | undefined {
    const id = this.#idIn(cookies);
    if (id === undefined) return undefined;
    const session = this.#sessions.get(digest(id));
    if (session === undefined) return undefined;
    if (session.expiresAt > this.#now() && session.tokenDigest === tokenDigest) return session;
    this.#sessions.delete(digest(id));
    return undefined;
  }

  /** The value of Set-Cookie that takes the cookie away. */
  close(cookies: string | undefined, secure: boolean): string {
    const id = this.#idIn(cookies);
    if (id !== undefined) this.#sessions.delete(digest(id));
    return this.#cookie("", 0, secure);
  }

  #idIn(cookies = ""): string | undefined {
    for (const pair of cookies.split(";")) {
      const [name = "", value = ""] = pair.trim().split("=", 2);
      if (name === this.cookieName && value !== "") return value;
    }
    return undefined;
  }

  #cookie(id: string, seconds: number, secure: boolean): string {
    const more = secure ? "; Secure" : "";
    return `${this.cookieName}=${id}; Path=/drawbridge/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${more}`;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

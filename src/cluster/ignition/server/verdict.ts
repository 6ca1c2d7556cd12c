/** What a request deserves. The order of the checks and every status are HyperShift's: machines depend on them. */
import type { Payload } from "./payload.js";
import type { Grant, TokenBook } from "./token-book.js";

export interface AskedFor {
  /** As it came, with its query. */
  readonly target: string;
  readonly authorization: string | undefined;
}

export type Verdict =
  | { readonly kind: "healthy" | "no-such-page" | "malformed" }
  /** The machine gives up on these: its user-data is wrong, and time does not mend it. */
  | { readonly kind: "unauthorized"; readonly why: "Bad header" | "Token invalid" }
  /** The machine asks again: the payload may not be ready yet. */
  | { readonly kind: "unknown-token" }
  | { readonly kind: "unusable-payload" | "payload"; readonly grant: Grant; readonly payload: Payload };

const BEARER = "Bearer ";

export function judge({ target, authorization }: AskedFor, book: TokenBook): Verdict {
  const path = pathOf(target);
  if (path === undefined) return { kind: "malformed" };
  if (path === "/healthz") return { kind: "healthy" };
  if (!/^\/ignition[^/ ]*$/.test(path)) return { kind: "no-such-page" };
  if (authorization === undefined || !authorization.startsWith(BEARER)) {
    return { kind: "unauthorized", why: "Bad header" };
  }
  const token = decodeBase64(authorization.slice(BEARER.length));
  if (token === undefined) return { kind: "unauthorized", why: "Token invalid" };
  const grant = book.find(token);
  if (grant === undefined) return { kind: "unknown-token" };
  const payload = grant.payload();
  return { kind: payload.usable ? "payload" : "unusable-payload", grant, payload };
}

/** Without the query, percent-decoded; undefined when that is not possible. */
function pathOf(target: string): string | undefined {
  const [path = ""] = target.split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Standard alphabet, padded, and nothing else: Node alone would read over anything. */
function decodeBase64(text: string): string | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, "base64").toString("utf8");
}

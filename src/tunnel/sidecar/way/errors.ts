/** What stood in the way, in one sentence, from whatever was caught. */

import { joinHostPort } from "../../../base/address.js";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { DialRefusedError } from "../../client/errors.js";
import { type Hindrance, type Target, WayError } from "../way.js";

export function describeTarget({ host, port }: Target): string {
  return joinHostPort(host, port);
}

/** For anything that came out of a dial through the tunnel. */
export function tunnelError(reason: unknown): WayError {
  if (reason instanceof WayError) return reason;
  if (!(reason instanceof DrawbridgeError))
    return new WayError("path", "DB_FRONTEND", messageOf(reason), { cause: reason });
  return new WayError(hindranceOf(reason), reason.code, reason.message, { cause: reason });
}

const BY_CODE: Partial<Record<ErrorCode, Hindrance>> = {
  DB_DIAL_DENIED: "forbidden",
  DB_DIAL_TIMEOUT: "timeout",
};

function hindranceOf(error: DrawbridgeError): Hindrance {
  if (error.code === "DB_DIAL_FAILED") return hindranceInWords(error instanceof DialRefusedError ? error.answer : "");
  return BY_CODE[error.code] ?? "path";
}

/** Agents pass on what Go, or Node in Go's words, says. */
function hindranceInWords(answer: string): Hindrance {
  if (/no such host|lookup .*(misbehaving|timeout)/i.test(answer)) return "name";
  if (/refused/i.test(answer)) return "refused";
  if (/network is unreachable/i.test(answer)) return "network";
  return "host";
}

const BY_ERRNO: Readonly<Record<string, Hindrance>> = {
  ECONNREFUSED: "refused",
  ENETUNREACH: "network",
  ETIMEDOUT: "timeout",
  ENOTFOUND: "name",
};

/** For a connection from here that failed. */
export function directError(target: Target, reason: unknown): WayError {
  if (reason instanceof WayError) return reason;
  const { code = "" } = reason as { code?: string };
  const words = messageOf(reason) || code;
  const message = `the direct connection to ${describeTarget(target)} failed: ${words}.`;
  return new WayError(BY_ERRNO[code] ?? "host", "DB_SIDECAR_DIRECT", message, { cause: reason });
}

export function loopError(target: Target, what: string): WayError {
  return new WayError(
    "forbidden",
    "DB_SIDECAR_LOOP",
    `${describeTarget(target)} is ${what}: going there would be a loop.`,
  );
}

/** Which resolver said what. */
export interface Attempt {
  readonly resolver: string;
  /** Undefined: it knows no such name. */
  readonly failure: unknown;
}

export function unresolved(name: string, attempts: readonly Attempt[]): WayError {
  const said = attempts.map(({ resolver, failure }) => {
    return `${resolver}: ${failure === undefined ? "no such name" : messageOf(failure).replace(/\.$/, "")}`;
  });
  // A resolver that cannot be asked is not the name's fault.
  const failed = attempts.find(({ failure }) => failure !== undefined);
  const message = `no address was found for ${name} (${said.join("; ")}).`;
  return new WayError(failed === undefined ? "name" : "path", "DB_SIDECAR_NAME", message, { cause: failed?.failure });
}

export function proxyError(
  hindrance: Hindrance,
  proxy: Target,
  what: string,
  options?: { readonly cause?: unknown },
): WayError {
  return new WayError(hindrance, "DB_SIDECAR_PROXY", `the proxy ${describeTarget(proxy)} ${what}.`, options);
}

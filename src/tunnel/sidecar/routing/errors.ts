/** Targets, and the errors of dials to them. */
import { joinHostPort } from "../../../base/address.js";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { DrawbridgeError, type ErrorDetails, messageOf, reasonOf } from "../../../base/errors/error.js";
import { DialRefusedError } from "../../client/errors.js";
import { explainConnect } from "../../outgoing/explain.js";

export interface Target {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Why a dial failed, in terms that both SOCKS5 and HTTP have an answer for. */
export type FailureKind =
  /** The name has no address. */
  | "name"
  /** The target answered, with no. */
  | "refused"
  /** There is no route to the target's network. */
  | "network"
  /** The target cannot be reached for any other reason. */
  | "host"
  | "timeout"
  /** It would lead back to ourselves, or a rule forbids it. */
  | "forbidden"
  /** The proxy-server, its agents or the customer's proxy fail, whatever the target. */
  | "path";

export class RouteError extends DrawbridgeError {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, code: ErrorCode, message: string, options?: ErrorDetails) {
    super(code, message, options);
    this.kind = kind;
  }
}

export function addressOf({ host, port }: Target): string {
  return joinHostPort(host, port);
}

/** For anything that came out of a dial through the tunnel. */
export function tunnelError(reason: unknown): RouteError {
  if (reason instanceof RouteError) return reason;
  if (!(reason instanceof DrawbridgeError))
    return new RouteError("path", "DB_FRONTEND", messageOf(reason), { cause: reason });
  return new RouteError(failureKindOf(reason), reason.code, reason.message, { cause: reason, remedy: reason.remedy });
}

const BY_CODE: Partial<Record<ErrorCode, FailureKind>> = {
  DB_DIAL_DENIED: "forbidden",
  DB_DIAL_TIMEOUT: "timeout",
};

function failureKindOf(error: DrawbridgeError): FailureKind {
  if (error.code === "DB_DIAL_FAILED") return failureKindInWords(error instanceof DialRefusedError ? error.answer : "");
  return BY_CODE[error.code] ?? "path";
}

/** Agents pass on what Go, or Node in Go's words, says. */
function failureKindInWords(answer: string): FailureKind {
  if (/no such host|lookup .*(misbehaving|timeout)/i.test(answer)) return "name";
  if (/refused/i.test(answer)) return "refused";
  if (/network is unreachable/i.test(answer)) return "network";
  return "host";
}

const BY_ERRNO: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: "refused",
  ENETUNREACH: "network",
  ETIMEDOUT: "timeout",
  ENOTFOUND: "name",
};

/** For a connection from here that failed. */
export function directError(target: Target, reason: unknown): RouteError {
  if (reason instanceof RouteError) return reason;
  const { code = "" } = reason as { code?: string };
  const own = code === "EMFILE" || code === "ENFILE" ? explainConnect(addressOf(target), reason) : undefined;
  if (own instanceof DrawbridgeError) return new RouteError("path", own.code, own.message, { cause: reason });
  const words = messageOf(reason) || code;
  const message = `the direct connection to ${addressOf(target)} failed: ${words}.`;
  return new RouteError(BY_ERRNO[code] ?? "host", "DB_SIDECAR_DIRECT", message, { cause: reason });
}

export function loopError(target: Target, what: string): RouteError {
  return new RouteError(
    "forbidden",
    "DB_SIDECAR_LOOP",
    `${addressOf(target)} is ${what}: going there would be a loop.`,
  );
}

/** What one resolver answered. */
export interface Attempt {
  readonly resolver: string;
  /** Undefined: it knows no such name. */
  readonly failure: unknown;
}

export function unresolvedError(name: string, attempts: readonly Attempt[]): RouteError {
  const answers = attempts.map(({ resolver, failure }) => {
    return `${resolver}: ${failure === undefined ? "no such name" : reasonOf(failure)}`;
  });
  // A resolver that cannot be asked is not the name's fault.
  const failed = attempts.find(({ failure }) => failure !== undefined);
  const message = `no address was found for ${name} (${answers.join("; ")}).`;
  return new RouteError(failed === undefined ? "name" : "path", "DB_SIDECAR_NAME", message, { cause: failed?.failure });
}

export function proxyError(
  kind: FailureKind,
  proxy: Target & { readonly from: string },
  what: string,
  options?: { readonly cause?: unknown },
): RouteError {
  return new RouteError(kind, "DB_SIDECAR_PROXY", `the proxy ${addressOf(proxy)} of ${proxy.from} ${what}.`, options);
}

/** What a failed dial means in each protocol's own terms. */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { linger } from "../../base/linger.js";
import { type ProxyRefusal, type RefusalStatus, refusalHeaders } from "../wire/http-proxy.js";
import { SOCKS5_REPLY, type Socks5Reply } from "../wire/socks5.js";
import type { RequestOutcome } from "./channels.js";
import { type FailureKind, RouteError } from "./routing/errors.js";

/** HTTP's names of errors are those of RFC 9209. */
const IN_PROTOCOLS: Record<FailureKind, { socks5: Socks5Reply; status: RefusalStatus; proxyStatus: string }> = {
  name: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "dns_error" },
  refused: { socks5: SOCKS5_REPLY.connectionRefused, status: 502, proxyStatus: "connection_refused" },
  network: { socks5: SOCKS5_REPLY.networkUnreachable, status: 502, proxyStatus: "destination_ip_unroutable" },
  host: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "destination_unavailable" },
  timeout: { socks5: SOCKS5_REPLY.ttlExpired, status: 504, proxyStatus: "connection_timeout" },
  forbidden: { socks5: SOCKS5_REPLY.notAllowed, status: 403, proxyStatus: "http_request_denied" },
  path: { socks5: SOCKS5_REPLY.generalFailure, status: 503, proxyStatus: "proxy_internal_error" },
};

export interface Failure {
  readonly outcome: RequestOutcome;
  /** For people, with the code. */
  readonly text: string;
  readonly code?: string;
}

/** Whatever a router rejected with. */
export function failureOf(reason: unknown): Failure {
  const outcome = failureKindOf(reason);
  if (!(reason instanceof DrawbridgeError)) return { outcome, text: oneLine(messageOf(reason)) };
  return { outcome, text: oneLine(`${reason.message} (${reason.code}: ${reason.remedy})`), code: reason.code };
}

export function socks5ReplyTo(reason: unknown): Socks5Reply {
  return IN_PROTOCOLS[failureKindOf(reason)].socks5;
}

export function httpRefusalOf(reason: unknown): ProxyRefusal {
  const { status, proxyStatus } = IN_PROTOCOLS[failureKindOf(reason)];
  return { status, proxyStatus, text: failureOf(reason).text };
}

/** Anything unforeseen is our own trouble, not the target's. */
function failureKindOf(reason: unknown): FailureKind {
  return reason instanceof RouteError ? reason.kind : "path";
}

/** The far end's words may be part of it; they end up in bodies and in logs. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** The proxy's own answer, or, when another one has begun already, a loud end of it. */
export function refuse(response: ServerResponse, refusal: ProxyRefusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // With its reason, because another one may be left from an answer that could not be passed on.
  response.writeHead(refusal.status, STATUS_CODES[refusal.status], refusalHeaders(refusal));
  response.end(`${refusal.text}\n`);
}

const LINGER_MS = 2_000;

/** Writes the answer and closes once the peer has had time to read it. */
export function closeLingering(socket: Socket, answer: string | Uint8Array): void {
  if (socket.destroyed) return;
  if (socket.writable) socket.end(answer);
  linger(socket, LINGER_MS);
}

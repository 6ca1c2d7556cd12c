/** What a failed dial means in each protocol's own terms. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { ProxyRefusal, RefusalStatus } from "../wire/http-proxy.js";
import { SOCKS5_REPLY, type Socks5Reply } from "../wire/socks5.js";
import type { Outcome } from "./channels.js";
import { type Hindrance, WayError } from "./way.js";

/** HTTP's names of errors are those of RFC 9209. */
const IN_PROTOCOLS: Record<Hindrance, { socks5: Socks5Reply; status: RefusalStatus; proxyStatus: string }> = {
  name: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "dns_error" },
  refused: { socks5: SOCKS5_REPLY.connectionRefused, status: 502, proxyStatus: "connection_refused" },
  network: { socks5: SOCKS5_REPLY.networkUnreachable, status: 502, proxyStatus: "destination_ip_unroutable" },
  host: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "destination_unavailable" },
  timeout: { socks5: SOCKS5_REPLY.ttlExpired, status: 504, proxyStatus: "connection_timeout" },
  forbidden: { socks5: SOCKS5_REPLY.notAllowed, status: 403, proxyStatus: "http_request_denied" },
  path: { socks5: SOCKS5_REPLY.generalFailure, status: 503, proxyStatus: "proxy_internal_error" },
};

export interface Failure {
  readonly outcome: Outcome;
  /** For people, with the code. */
  readonly text: string;
  readonly code?: string;
}

/** Whatever a way rejected with. */
export function failureOf(reason: unknown): Failure {
  const outcome = hindranceOf(reason);
  if (!(reason instanceof DrawbridgeError)) return { outcome, text: oneLine(messageOf(reason)) };
  return { outcome, text: oneLine(`${reason.message} (${reason.code}: ${reason.remedy})`), code: reason.code };
}

export function socks5ReplyTo(reason: unknown): Socks5Reply {
  return IN_PROTOCOLS[hindranceOf(reason)].socks5;
}

export function httpRefusalOf(reason: unknown): ProxyRefusal {
  const { status, proxyStatus } = IN_PROTOCOLS[hindranceOf(reason)];
  return { status, proxyStatus, text: failureOf(reason).text };
}

/** Anything unforeseen is our own trouble, not the target's. */
function hindranceOf(reason: unknown): Hindrance {
  return reason instanceof WayError ? reason.hindrance : "path";
}

/** The far end's words may be part of it; they end up in bodies and in logs. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** What a failed dial means in each protocol's own terms, and how a refusal is sent. */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.js";
import { cutWhenSent } from "../../base/cut-socket.js";
import { causeFields, messageOf } from "../../base/errors/error.js";
import { linger } from "../../base/linger.js";
import { answerHead } from "../wire/http-proxy.js";
import { SOCKS5_REPLY, type Socks5Reply } from "../wire/socks5.js";
import { type FailureKind, RouteError } from "./routing/errors.js";

/** An answer of the proxy itself, after which the connection ends. */
export interface ProxyRefusal {
  readonly status: number;
  /** One sentence for people. */
  readonly text: string;
  /** The error's name in RFC 9209's registry. */
  readonly proxyStatus: string;
}

/** The refusal of a request for its own sake, whatever its target. */
export const requestError = (status: number, text: string, proxyStatus = "http_request_error"): ProxyRefusal => ({
  status,
  text,
  proxyStatus,
});

/** HTTP's names of errors are those of RFC 9209. */
const IN_PROTOCOLS: Record<FailureKind, { socks5: Socks5Reply; status: number; proxyStatus: string }> = {
  name: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "dns_error" },
  refused: { socks5: SOCKS5_REPLY.connectionRefused, status: 502, proxyStatus: "connection_refused" },
  network: { socks5: SOCKS5_REPLY.networkUnreachable, status: 502, proxyStatus: "destination_ip_unroutable" },
  host: { socks5: SOCKS5_REPLY.hostUnreachable, status: 502, proxyStatus: "destination_unavailable" },
  timeout: { socks5: SOCKS5_REPLY.ttlExpired, status: 504, proxyStatus: "connection_timeout" },
  forbidden: { socks5: SOCKS5_REPLY.notAllowed, status: 403, proxyStatus: "http_request_denied" },
  path: { socks5: SOCKS5_REPLY.generalFailure, status: 503, proxyStatus: "proxy_internal_error" },
};

export interface ClientRefusal extends ProxyRefusal {
  readonly outcome: FailureKind;
  readonly code: string | undefined;
  readonly socks5: Socks5Reply;
}

/** Describes whatever a router rejected with; anything unforeseen is our own trouble, not the target's. */
export function dialFailureOf(reason: unknown): ClientRefusal {
  const outcome = reason instanceof RouteError ? reason.kind : "path";
  const { code, remedy } = causeFields(reason);
  const sentence = code === undefined ? messageOf(reason) : `${messageOf(reason)} (${code}: ${remedy})`;
  // The far end's words may be part of it; they end up in bodies and in logs.
  return { outcome, code, text: sentence.replace(/[\r\n]+/g, " "), ...IN_PROTOCOLS[outcome] };
}

function refusalHeaders({ text, proxyStatus }: ProxyRefusal): string[] {
  return [
    ...["Content-Type", "text/plain; charset=utf-8"],
    ...["Content-Length", String(Buffer.byteLength(text) + 1)],
    ...["Proxy-Status", `drawbridge; error=${proxyStatus}`],
    ...["Connection", "close"],
  ];
}

/** For a connection that no response object exists for. */
export function refusalText(refusal: ProxyRefusal): string {
  const { status, text } = refusal;
  return `${answerHead(status, STATUS_CODES[status] ?? "", refusalHeaders(refusal))}${text}\n`;
}

/** Sends the proxy's own answer; one of the target that has begun already is cut off instead. */
export function refuse(response: ServerResponse, refusal: ProxyRefusal, clock: Clock): void {
  if (response.headersSent) {
    cutAnswer(response, clock);
    return;
  }
  // With its reason, because another one may be left from an answer that could not be passed on.
  response.writeHead(refusal.status, STATUS_CODES[refusal.status], refusalHeaders(refusal));
  response.end(`${refusal.text}\n`);
}

const LINGER_MS = 2_000;

/** The client has what was written so far, and learns that this was not all. */
export function cutAnswer(response: ServerResponse, clock: Clock): void {
  const { socket } = response;
  if (socket === null) response.destroy();
  else cutWhenSent(socket, { clock, withinMs: LINGER_MS, alert: true });
}

/** Writes the answer and closes once the peer has had time to read it. */
export function closeLingering(socket: Socket, answer: string | Uint8Array, clock?: Clock): void {
  if (socket.destroyed) return;
  if (socket.writable) socket.end(answer);
  linger(socket, LINGER_MS, clock);
}

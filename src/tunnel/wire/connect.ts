/** HTTP CONNECT as callers send it and as upstream answers it, byte for byte. */

import type { DialId } from "./packet.js";

export type ConnectRequest =
  | {
      readonly kind: "connect";
      readonly target: string;
      /** The caller's own number for its dial, where it sent one. */
      readonly dialId: DialId | undefined;
      /** The caller wants to be told by a TLS alert when its stream is cut. */
      readonly wantsAlert: boolean;
      readonly headBytes: number;
    }
  | { readonly kind: "other-method"; readonly keepAlive: boolean; readonly headBytes: number }
  | { readonly kind: "malformed" };

/** Far more than any caller or server sends; Go would take a megabyte. */
const MAX_HEAD_BYTES = 64 * 1024;

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP\/1\.(\d)$/;

/** Which bytes a header's name may have. */
const IN_NAME = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

const [LINE_FEED, CARRIAGE_RETURN, COLON] = [0x0a, 0x0d, 0x3a];

/**
 * Parses what has arrived so far, of which `seen` bytes were parsed before. Undefined: the head is not complete yet.
 * Go also takes bare line feeds, so both endings count.
 */
export function parseConnectRequest(bytes: Buffer, seen = 0): ConnectRequest | undefined {
  // An empty line may have begun with the last two.
  const end = endOfHead(bytes, Math.max(0, seen - 2));
  if (end === undefined) return bytes.length > MAX_HEAD_BYTES ? { kind: "malformed" } : undefined;
  const lineEnd = bytes.indexOf(LINE_FEED);
  const lineBytes = bytes[lineEnd - 1] === CARRIAGE_RETURN ? lineEnd - 1 : lineEnd;
  const request = REQUEST_LINE.exec(bytes.toString("latin1", 0, lineBytes));
  if (request === null || !hasOnlyHeaders(bytes, lineEnd + 1, end)) return { kind: "malformed" };
  const [, method, target = "", minor] = request;
  if (method !== "CONNECT") {
    const headers = readHeaders(bytes.toString("latin1", lineEnd + 1, end));
    // A body would have to be read and thrown away first; closing instead says the same.
    const hasBody = (headers.get("content-length") ?? "0") !== "0" || headers.has("transfer-encoding");
    const keepAlive = !hasBody && minor === "1" && headers.get("connection")?.toLowerCase() !== "close";
    return { kind: "other-method", keepAlive, headBytes: end };
  }
  if (target.startsWith("/") || /[^\x21-\x7e]/.test(target)) return { kind: "malformed" };
  const alertAt = bytes.indexOf(ALERT_LINE, lineEnd);
  const wantsAlert = alertAt >= 0 && alertAt < end;
  return { kind: "connect", target, dialId: dialIdIn(bytes, lineEnd, end), wantsAlert, headBytes: end };
}

/** As gRPC callers have it in their DIAL_REQ. Only drawbridge sends it, in this spelling; other servers ignore it. */
const DIAL_ID_HEADER = "X-Drawbridge-Dial-Id: ";
const DIAL_ID_LINE = Buffer.from(`\n${DIAL_ID_HEADER}`);
const MAX_DIAL_ID = 2n ** 63n - 1n;

/** What a Node client sends on TLS, which does not tell it that a connection has ended without TLS's good-bye. */
export const ALERT_HEADER = "X-Drawbridge-Cut: alert\r\n";
const ALERT_LINE = Buffer.from(`\n${ALERT_HEADER}`);

export const dialIdHeader = (dialId: DialId): string => `${DIAL_ID_HEADER}${dialId}\r\n`;

function dialIdIn(bytes: Buffer, from: number, end: number): DialId | undefined {
  const at = bytes.indexOf(DIAL_ID_LINE, from);
  if (at < 0 || at >= end) return undefined;
  const [digits] = /^\d{1,19}(?=\r?\n)/.exec(bytes.toString("latin1", at + DIAL_ID_LINE.length, end)) ?? [];
  const dialId = BigInt(digits ?? 0);
  return digits === undefined || dialId > MAX_DIAL_ID ? undefined : dialId;
}

/** Offset behind the empty line. */
function endOfHead(bytes: Buffer, from: number): number | undefined {
  for (let at = bytes.indexOf(0x0a, from); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at + 1] === 0x0a) return at + 2;
    if (bytes[at + 1] === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return undefined;
}

/** Whether every line is a header or empty. Looked at as bytes: nobody asks a CONNECT what its headers say. */
function hasOnlyHeaders(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at = bytes.indexOf(LINE_FEED, at) + 1) {
    const start = at;
    if (bytes[at] === LINE_FEED || (bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED)) continue;
    while (IN_NAME[bytes[at]!] === 1) at++;
    if (at === start || bytes[at] !== COLON) return false;
  }
  return true;
}

function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

/** The answer to a CONNECT request, as pure text. */
export type ConnectAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Undefined: the body ends with the connection. */
      readonly bodyBytes: number | undefined;
      /** Where the head ends; what follows is the body, or the first bytes from the endpoint. */
      readonly headBytes: number;
    }
  | { readonly kind: "malformed" };

const ANSWER_START = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: |\r?$)/;
const CONTENT_LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/im;

/** Undefined: the head is not complete yet. */
export function parseConnectAnswer(bytes: Buffer): ConnectAnswer | undefined {
  // Said at once, so that a server that speaks something else is not waited for.
  const start = bytes.toString("latin1", 0, ANSWER_START.length);
  if (!ANSWER_START.startsWith(start)) return { kind: "malformed" };
  const end = endOfHead(bytes, 0);
  if (end === undefined) return bytes.length > MAX_HEAD_BYTES ? { kind: "malformed" } : undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = STATUS_LINE.exec(head.slice(0, head.indexOf("\n")))?.[1];
  if (status === undefined) return { kind: "malformed" };
  const length = CONTENT_LENGTH.exec(head)?.[1];
  return {
    kind: "answer",
    status: Number(status),
    bodyBytes: length === undefined ? undefined : Number(length),
    headBytes: end,
  };
}

/** The status line alone: kube-apiserver refuses the connection when anything is buffered behind it. */
export const ESTABLISHED = Buffer.from("HTTP/1.1 200 Connection Established\r\n\r\n", "latin1");

export const BAD_REQUEST =
  "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request";

/** For whoever may not come in. */
export function forbidden(why: string): string {
  const body = `This proxy refused the connection: ${why}.\n`;
  return (
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n" +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

export function methodNotAllowed(date: Date, keepAlive: boolean): string {
  return (
    "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n" +
    `Date: ${date.toUTCString()}\r\nContent-Length: 45\r\n${keepAlive ? "" : "Connection: close\r\n"}\r\n` +
    "this proxy only supports CONNECT passthrough\n"
  );
}

const REASON = { 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };

export function noTunnels(error: string): string {
  return `HTTP/1.1 500 ${REASON[500]}\r\nContent-Type: text/plain\r\n\r\ncurrently no tunnels available: ${error}`;
}

/** The server failed to reach the agent: the text ends with a line break. */
export function gatewayError(status: 502 | 504, text: string): string {
  return `HTTP/1.1 ${status} ${REASON[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n`;
}

/** The agent's answer to the dial was an error: its text, as it is. */
export function dialFailed(status: 502 | 503 | 504, text: string): string {
  return (
    `HTTP/1.1 ${status} ${REASON[status]}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n` +
    text
  );
}

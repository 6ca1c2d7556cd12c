/** HTTP CONNECT as callers send it and as upstream answers it, byte for byte. */

export type ConnectRequest =
  | { readonly kind: "connect"; readonly target: string; readonly headBytes: number }
  | { readonly kind: "other-method"; readonly keepAlive: boolean; readonly headBytes: number }
  | { readonly kind: "malformed" };

/** Far more than any caller of ours sends; Go would take a megabyte. */
const MAX_HEAD_BYTES = 64 * 1024;

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_NAME = METHOD;
const REQUEST_LINE = /^(\S+) (\S+) HTTP\/(\d)\.(\d)$/;

/**
 * Parses what has arrived so far. Undefined: the head is not complete yet.
 * Go also takes bare line feeds, so both endings count.
 */
export function parseConnectRequest(bytes: Buffer): ConnectRequest | undefined {
  const end = endOfHead(bytes);
  if (end === undefined) return bytes.length > MAX_HEAD_BYTES ? { kind: "malformed" } : undefined;
  const lines = bytes.toString("latin1", 0, end).split("\n");
  const [first = "", ...rest] = lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const request = REQUEST_LINE.exec(first);
  if (request === null) return { kind: "malformed" };
  const [, method = "", target = "", major] = request;
  if (!METHOD.test(method) || major !== "1") return { kind: "malformed" };
  const headers = parseHeaders(rest);
  if (headers === undefined) return { kind: "malformed" };
  if (method !== "CONNECT") {
    // A body would have to be read and thrown away first; closing instead says the same.
    const hasBody = (headers.get("content-length") ?? "0") !== "0" || headers.has("transfer-encoding");
    const keepAlive = !hasBody && request[4] === "1" && headers.get("connection")?.toLowerCase() !== "close";
    return { kind: "other-method", keepAlive, headBytes: end };
  }
  if (target.startsWith("/") || /[^\x21-\x7e]/.test(target)) return { kind: "malformed" };
  return { kind: "connect", target, headBytes: end };
}

/** Offset behind the empty line. */
function endOfHead(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at + 1] === 0x0a) return at + 2;
    if (bytes[at + 1] === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return undefined;
}

function parseHeaders(lines: string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of lines) {
    if (line === "") continue;
    const colon = line.indexOf(":");
    if (colon <= 0 || !HEADER_NAME.test(line.slice(0, colon))) return undefined;
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

/** The status line alone: kube-apiserver refuses the connection when anything is buffered behind it. */
export const ESTABLISHED = Buffer.from("HTTP/1.1 200 Connection Established\r\n\r\n", "latin1");

export const BAD_REQUEST =
  "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request";

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

/** The server's own trouble with the agent: the text ends with a line break. */
export function gatewayTrouble(status: 502 | 504, text: string): string {
  return `HTTP/1.1 ${status} ${REASON[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${text}\r\n`;
}

/** The agent's answer to the dial was an error: its text, as it is. */
export function dialFailed(status: 502 | 503 | 504, text: string): string {
  return (
    `HTTP/1.1 ${status} ${REASON[status]}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n` +
    text
  );
}

/** What a forward proxy reads and writes of HTTP/1.1 (RFC 9110, 9112), as pure text. */

import { parseHost } from "./destination.js";

/** `host`, `host:port` or `[v6]:port`, with the host in its one form (destination.ts); undefined when it is not one. */
export function parseAuthority(text: string, defaultPort: number): { host: string; port: number } | undefined {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{0,5}))?$/.exec(text);
  const host = parseHost(match?.[1] ?? match?.[2] ?? "")?.text;
  if (match === null || host === undefined) return undefined;
  // The colon may stand without a number (RFC 3986).
  const port = match[3] === undefined || match[3] === "" ? defaultPort : Number(match[3]);
  return port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

export type RequestTarget =
  | {
      readonly kind: "absolute";
      readonly authority: NonNullable<ReturnType<typeof parseAuthority>>;
      /** As the client wrote it: the Host header for the target. */
      readonly hostHeader: string;
      /** The request target for the target's own server. */
      readonly path: string;
    }
  /** A request for a web server: whoever sent it does not know that this is a proxy. */
  | { readonly kind: "origin" }
  | { readonly kind: "unusable"; readonly why: string };

/** The target of a request other than CONNECT. */
export function parseRequestTarget(target: string): RequestTarget {
  if (target.startsWith("/") || target === "*") return { kind: "origin" };
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^#]*)/.exec(target);
  if (match === null) return { kind: "unusable", why: "the request target is not a URL" };
  const [, scheme = "", hostHeader = "", rest = ""] = match;
  if (!/^(?:http|ws)$/i.test(scheme)) {
    return { kind: "unusable", why: `only http URLs are forwarded, ${scheme} needs CONNECT` };
  }
  if (hostHeader.includes("@")) return { kind: "unusable", why: "a URL with a user name is not forwarded" };
  const authority = parseAuthority(hostHeader, 80);
  if (authority === undefined) return { kind: "unusable", why: "the URL has no usable host and port" };
  return { kind: "absolute", authority, hostHeader, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Names and values in turn, as node:http has them in `rawHeaders`. */
export type RawHeaders = readonly string[];

/** Headers for the next hop only, whether `Connection` lists them or not (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "transfer-encoding", "upgrade"],
]);

/** Headers that say where a message ends and whom it is for: `Connection` cannot remove them, nor a trailer add them. */
const FRAMING_AND_ROUTING = new Set(["content-length", "host"]);

/** Everything that is meant for the far end, in its order. */
export function endToEndHeaders(headers: RawHeaders): string[] {
  const listed = listedIn(headers, "connection");
  for (const name of FRAMING_AND_ROUTING) listed.delete(name);
  const kept: string[] = [];
  for (const [name, value] of pairs(headers)) {
    const key = name.toLowerCase();
    if (!HOP_BY_HOP.has(key) && !listed.has(key)) kept.push(name, value);
  }
  return kept;
}

/** The trailers behind a chunked body that are meant for the far end. */
export function endToEndTrailers(trailers: RawHeaders): [name: string, value: string][] {
  return [...pairs(endToEndHeaders(trailers))].filter(([name]) => !FRAMING_AND_ROUTING.has(name.toLowerCase()));
}

/** Whether the body comes in a coding that is not simply chunks, which nobody could pass on as it is. */
export function hasUnknownCoding(transferEncoding: string | undefined): boolean {
  return transferEncoding !== undefined && transferEncoding.toLowerCase() !== "chunked";
}

/** The words of a comma-separated header, over all its lines, in lower case. */
export function listedIn(headers: RawHeaders, wanted: string): Set<string> {
  const words = new Set<string>();
  for (const [name, value] of pairs(headers)) {
    if (name.toLowerCase() !== wanted) continue;
    for (const word of value.split(",")) words.add(word.trim().toLowerCase());
  }
  return words;
}

export function withoutHeader(headers: RawHeaders, unwanted: string): string[] {
  return [...pairs(headers)].filter(([name]) => name.toLowerCase() !== unwanted).flat();
}

export function* pairs(headers: RawHeaders): Iterable<[name: string, value: string]> {
  for (let at = 0; at + 1 < headers.length; at += 2) yield [headers[at]!, headers[at + 1]!];
}

/** A CONNECT that worked; bytes of the target follow. */
export const CONNECTION_ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

/** The head of an answer as text, for a connection that no response object exists for. */
export function answerHead(status: number, reason: string, headers: RawHeaders): string {
  const lines = [...pairs(headers)].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n`;
}

/** A client's request as it is asked again, one hop further on. */
import type { IncomingMessage } from "node:http";
import {
  endToEndHeaders,
  hasUnknownCoding,
  listedIn,
  type ProxyRefusal,
  parseRequestTarget,
  withoutHeader,
} from "../../wire/http-proxy.js";
import type { Outcome } from "../channels.js";
import type { HttpHop, HttpWay } from "../way/http-way.js";
import type { Target } from "../way.js";

export interface Errand {
  readonly target: Target;
  readonly hop: HttpHop;
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly hasBody: boolean;
}

export interface Refused {
  readonly outcome: Outcome;
  readonly refusal: ProxyRefusal;
}

const refused = (outcome: Outcome, status: ProxyRefusal["status"], proxyStatus: string, text: string): Refused => ({
  outcome,
  refusal: { status, proxyStatus, text },
});

/** `self` is how this process calls itself in Via, so that it knows its own requests when they come back. */
export function errandOf(request: IncomingMessage, way: HttpWay, self: string): Errand | Refused {
  const { rawHeaders, method = "GET", url = "" } = request;
  const asked = parseRequestTarget(url);
  if (asked.kind === "origin") {
    const text = "This is a proxy, not a web server: it takes CONNECT and requests for whole http:// URLs.";
    return refused("unsupported", 400, "http_request_error", text);
  }
  if (asked.kind === "unusable") {
    return refused("malformed", 400, "http_request_error", `The request cannot be forwarded: ${asked.why}.`);
  }
  if ([...listedIn(rawHeaders, "via")].some((hop) => hop.split(/\s+/)[1] === self)) {
    return refused("forbidden", 508, "proxy_loop_detected", "The request came back to the proxy that sent it.");
  }
  const coding = request.headers["transfer-encoding"];
  if (hasUnknownCoding(coding)) {
    const text = `A body with the transfer coding ${JSON.stringify(coding)} cannot be forwarded; send it in chunks.`;
    return refused("unsupported", 501, "http_request_error", text);
  }
  const chunked = coding !== undefined;
  const length = request.headers["content-length"];
  const hop = way.wayForHttp(asked.authority);
  const headers = [
    "Host",
    asked.hostHeader,
    ...withoutHeader(endToEndHeaders(rawHeaders), "host"),
    "Via",
    `1.1 ${self}`,
  ];
  if (hop.proxyAuthorization !== undefined) headers.push("Proxy-Authorization", hop.proxyAuthorization);
  if (chunked) headers.push("Transfer-Encoding", "chunked");
  // Otherwise node:http would announce a body for methods that often have one.
  else if (length === undefined && !["GET", "HEAD"].includes(method)) headers.push("Content-Length", "0");
  return {
    target: asked.authority,
    hop,
    method,
    path: hop.form === "absolute" ? `http://${asked.hostHeader}${asked.path}` : asked.path,
    headers,
    hasBody: chunked || (length !== undefined && length !== "0"),
  };
}

/** A client's request as it is sent on to the next hop. */
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../base/clock.js";
import { wasReset } from "../../../base/cut-socket.js";
import {
  endToEndHeaders,
  endToEndTrailers,
  hasUnknownCoding,
  listedIn,
  parseRequestTarget,
  withoutHeader,
} from "../../wire/http-proxy.js";
import type { RequestOutcome } from "../channels.js";
import { cutAnswer, type ProxyRefusal, requestError } from "../refusals.js";
import type { Traffic } from "../relay.js";
import type { Target } from "../routing/errors.js";
import type { HttpRoute, Router } from "../routing/router.js";

export interface ForwardedRequest {
  readonly target: Target;
  readonly route: HttpRoute;
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly hasBody: boolean;
}

export interface RefusedRequest extends ProxyRefusal {
  readonly outcome: RequestOutcome;
}

/** `self` is how this process calls itself in Via, so that it knows its own requests when they come back. */
export function forwardedRequestOf(
  request: IncomingMessage,
  router: Pick<Router, "routeHttp">,
  self: string,
): ForwardedRequest | RefusedRequest {
  const { rawHeaders, method = "GET", url = "" } = request;
  const parsed = parseRequestTarget(url);
  if (parsed.kind === "origin") {
    const text = "This is a proxy, not a web server: it takes CONNECT and requests for whole http:// URLs.";
    return { outcome: "unsupported", ...requestError(400, text) };
  }
  if (parsed.kind === "unusable") {
    return { outcome: "malformed", ...requestError(400, `The request cannot be forwarded: ${parsed.why}.`) };
  }
  if ([...listedIn(rawHeaders, "via")].some((route) => route.split(/\s+/)[1] === self)) {
    const text = "The request came back to the proxy that sent it.";
    return { outcome: "forbidden", ...requestError(508, text, "proxy_loop_detected") };
  }
  const coding = request.headers["transfer-encoding"];
  if (hasUnknownCoding(coding)) {
    const text = `A body with the transfer coding ${JSON.stringify(coding)} cannot be forwarded; send it in chunks.`;
    return { outcome: "unsupported", ...requestError(501, text) };
  }
  const chunked = coding !== undefined;
  const length = request.headers["content-length"];
  const route = router.routeHttp(parsed.authority);
  const headers = [
    "Host",
    parsed.hostHeader,
    ...withoutHeader(endToEndHeaders(rawHeaders), "host"),
    "Via",
    `1.1 ${self}`,
  ];
  if (route.proxyAuthorization !== undefined) headers.push("Proxy-Authorization", route.proxyAuthorization);
  if (chunked) headers.push("Transfer-Encoding", "chunked");
  // Otherwise node:http would announce a body for methods that often have one.
  else if (length === undefined && !["GET", "HEAD"].includes(method)) headers.push("Content-Length", "0");
  return {
    target: parsed.authority,
    route,
    method,
    path: route.form === "absolute" ? `http://${parsed.hostHeader}${parsed.path}` : parsed.path,
    headers,
    hasBody: chunked || (length !== undefined && length !== "0"),
  };
}

export interface AnswerOptions {
  /** Our name in Via. */
  readonly self: string;
  readonly traffic: Traffic;
  readonly clock: Clock;
}

/** Streams it, every piece as it comes; one that is cut is cut to the client, too. Throws when it cannot be passed on. */
export function streamAnswer(answer: IncomingMessage, response: ServerResponse, options: AnswerOptions): void {
  const { self, traffic, clock } = options;
  const coding = answer.headers["transfer-encoding"];
  if (hasUnknownCoding(coding)) throw new Error(`its body has the transfer coding ${JSON.stringify(coding)}`);
  const headers = [...endToEndHeaders(answer.rawHeaders), "Via", `1.1 ${self}`];
  // The target's own date, or none.
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? "", headers);
  // An event stream may have nothing to say for a long time.
  response.flushHeaders();
  answer.on("data", (chunk: Buffer) => {
    traffic.fromTarget += chunk.length;
  });
  const isLost = lossWatch(answer);
  answer.once("end", () => {
    if (isLost()) {
      cutAnswer(response, clock);
      return;
    }
    copyTrailers(answer, response);
    response.end();
  });
  answer.once("error", () => {
    // What had come and waited for the client.
    for (let rest = answer.read() as Buffer | null; rest !== null; rest = answer.read() as Buffer | null)
      if (response.writable) response.write(rest);
    cutAnswer(response, clock);
  });
  answer.pipe(response, { end: false });
}

/** To ask at its end whether its connection was lost: node:http takes that for the end of an answer without a length. */
function lossWatch(answer: IncomingMessage): () => boolean {
  const { socket } = answer;
  let isReset = false;
  // Before node:http hears of it, which ends its own side then.
  const onEnd = (): void => {
    isReset = wasReset(socket);
  };
  socket.prependOnceListener("end", onEnd);
  answer.once("close", () => socket.off("end", onEnd));
  return () => isReset || socket.errored !== null;
}

/** Must be called when the whole message was read and before the other one ends. */
export function copyTrailers(from: IncomingMessage, to: ClientRequest | ServerResponse): void {
  if (from.rawTrailers.length > 0) to.addTrailers(endToEndTrailers(from.rawTrailers));
}

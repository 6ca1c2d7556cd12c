/** A verdict as an HTTP answer. Bodies are HyperShift's, byte for byte. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Payload } from "./payload.js";
import type { Verdict } from "./verdict.js";

/** Calls `onPayloadSent` once a whole payload has left: not for HEAD and 304, and not when the machine hangs up midway. */
export function sendVerdict(
  verdict: Verdict,
  request: IncomingMessage,
  response: ServerResponse,
  onPayloadSent: () => void,
): void {
  switch (verdict.kind) {
    case "healthy":
      response.writeHead(200, { "Content-Length": 0 }).end();
      return;
    case "malformed":
      sendError(response, 400, "Bad Request");
      return;
    case "no-such-page":
      sendError(response, 404, "404 page not found");
      return;
    case "unauthorized":
      sendError(response, 401, "Unauthorized");
      return;
    case "unknown-token":
      // Ignition asks again after every 5xx; this one is not mistaken for a broken server.
      sendError(response, 511, "Token not found");
      return;
    case "unusable-payload":
      sendError(response, 500, "Invalid ignition payload");
      return;
    case "payload":
      sendPayload(verdict.payload, request, response, onPayloadSent);
  }
}

function sendError(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

function sendPayload(payload: Payload, request: IncomingMessage, response: ServerResponse, onSent: () => void): void {
  const { etag } = payload;
  const common = { ETag: etag, "Cache-Control": "no-store", Vary: "Accept-Encoding" };
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304, common).end();
    return;
  }
  const gzip = takesGzip(request.headers["accept-encoding"]);
  const pieces = gzip ? [payload.compressed] : payload.pieces;
  response.writeHead(200, {
    ...common,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": gzip ? payload.compressed.length : payload.length,
    ...(gzip ? { "Content-Encoding": "gzip" } : {}),
  });
  if (request.method !== "HEAD") {
    let left = pieces.length;
    // Node also calls back, and emits "finish", when the connection is closed before everything was sent.
    const onWritten = (error?: Error | null): void => {
      if (!error && !request.socket.destroyed && --left === 0) onSent();
    };
    for (const piece of pieces) response.write(piece, onWritten);
  }
  response.end();
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return [accepted ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .some((coding) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}

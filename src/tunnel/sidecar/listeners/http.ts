/** The HTTP proxy for its clients: CONNECT here, everything else by the forwarder; what is neither gets an answer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CONNECTION_ESTABLISHED, parseAuthority } from "../../wire/http-proxy.js";
import type { ClientRequestKind, RequestOutcome } from "../channels.js";
import { type ConnectionHandler, SOCKET_OPTIONS } from "../connection-handler.js";
import { closeLingering, type ProxyRefusal, refusalText, refuse, requestError } from "../refusals.js";
import { acceptFirst } from "./accept-first.js";
import { Forwarder } from "./forwarder.js";

/** How long a connection is kept for the client's next request. */
const KEEP_ALIVE_MS = 60_000;
/** How often node:http looks for clients that are late. */
const LATENESS_CHECK_MS = 1_000;

/** HyperShift's proxy takes a CONNECT without a port for one to port 80. */
const CONNECT_DEFAULT_PORT = 80;

const FULL = requestError(
  503,
  "There are too many connections; try again later or raise --max-connections.",
  "connection_limit_reached",
);
const NO_TARGET = requestError(400, "CONNECT needs a host and a port, for example CONNECT example.com:443.");
const LATE = requestError(408, "The request was not complete in time.");
const NOT_HTTP = requestError(
  400,
  "This is not an HTTP/1.1 request; the proxy's address needs http:// in front of it, not https://.",
);

export function createHttpProxyServer(handler: ConnectionHandler): Server {
  const { limit, limits } = handler;
  const server = createServer({
    ...SOCKET_OPTIONS,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.handshakeTimeoutMs,
    // For the whole request, so long uploads would be cut.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LATENESS_CHECK_MS,
  });
  const forwarder = new Forwarder(handler);
  const close = (socket: Socket, kind: ClientRequestKind, outcome: RequestOutcome, refusal: ProxyRefusal): void => {
    handler.refused(kind, outcome, refusal.text);
    closeLingering(socket, refusalText(refusal));
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // An answer to a client that has left is nobody's problem.
    response.on("error", () => {});
    // A server that was closed takes no more requests, not even on connections it has.
    if (!server.listening) response.shouldKeepAlive = false;
    if (limit.isExceededBy(request.socket)) {
      handler.refused("forward", "full", FULL.text);
      refuse(response, FULL, handler.runtime);
    } else {
      forwarder.forward(request, response);
    }
  };
  acceptFirst(server, (socket) => limit.admit(socket));
  server.on("request", onRequest);
  // The target decides whether it wants the body.
  server.on("checkContinue", onRequest);
  server.on("connect", (request, stream, head) => {
    const socket = stream as Socket;
    const target = parseAuthority(request.url ?? "", CONNECT_DEFAULT_PORT);
    if (limit.isExceededBy(socket)) close(socket, "connect", "full", FULL);
    else if (target === undefined) close(socket, "connect", "malformed", NO_TARGET);
    else {
      // Clients may send on without waiting for the answer.
      if (head.length > 0) socket.unshift(head);
      void handler.connect("connect", target, socket, {
        established: () => CONNECTION_ESTABLISHED,
        failed: refusalText,
      });
    }
  });
  server.on("upgrade", (request, stream, head) => {
    const socket = stream as Socket;
    if (limit.isExceededBy(socket)) close(socket, "upgrade", "full", FULL);
    else forwarder.upgrade(request, socket, head);
  });
  // What node:http could not read as a request.
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    if (code === "ECONNRESET" || socket.destroyed) {
      handler.refused("forward", "abandoned", "the client hung up");
      socket.destroy();
    } else if (code === "ERR_HTTP_REQUEST_TIMEOUT") close(socket, "forward", "late", LATE);
    else if (code === "HPE_HEADER_OVERFLOW") {
      const text = `The request's headers are longer than ${limits.maxHeaderBytes} bytes.`;
      close(socket, "forward", "malformed", requestError(431, text));
    } else close(socket, "forward", "malformed", NOT_HTTP);
  });
  server.on("close", () => forwarder.close());
  return server;
}

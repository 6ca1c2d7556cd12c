/** The HTTP proxy for its clients: CONNECT here, everything else by the forwarder; what is neither gets an answer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CONNECTION_ESTABLISHED, type ProxyRefusal, parseAuthority, refusalText } from "../../wire/http-proxy.js";
import type { ClientRequestKind, RequestOutcome } from "../channels.js";
import { type ConnectionHandler, SOCKET_OPTIONS } from "../connection-handler.js";
import { closeLingering, httpRefusalOf, refuse } from "../refusals.js";
import { acceptFirst } from "./accept-first.js";
import { Forwarder } from "./forwarder.js";

/** A client that keeps its connection for the next request. */
const KEEP_ALIVE_MS = 60_000;
/** How often node:http looks for clients that are late. */
const LATENESS_CHECK_MS = 1_000;

/** HyperShift's proxy takes a CONNECT without a port for one to port 80. */
const CONNECT_DEFAULT_PORT = 80;

const FULL: ProxyRefusal = {
  status: 503,
  proxyStatus: "connection_limit_reached",
  text: "There are too many connections; try again later or raise --max-connections.",
};
const NO_TARGET: ProxyRefusal = {
  status: 400,
  proxyStatus: "http_request_error",
  text: "CONNECT needs a host and a port, for example CONNECT example.com:443.",
};

export function createHttpProxyServer(handler: ConnectionHandler): Server {
  const { handshakeTimeoutMs, maxHeaderBytes } = handler.limits;
  const server = createServer({
    ...SOCKET_OPTIONS,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: handshakeTimeoutMs,
    // For the whole request, so long uploads would be cut.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LATENESS_CHECK_MS,
  });
  const forwarder = new Forwarder(handler);
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // An answer to a client that has left is nobody's problem.
    response.on("error", () => {});
    // A server that was closed takes no more requests, not even on connections it has.
    if (!server.listening) response.shouldKeepAlive = false;
    if (handler.limit.isExceededBy(request.socket)) {
      handler.refused("forward", "full", FULL.text);
      refuse(response, FULL);
    } else {
      forwarder.forward(request, response);
    }
  };
  acceptFirst(server, (socket) => handler.limit.admit(socket));
  server.on("request", onRequest);
  // The target decides whether it wants the body.
  server.on("checkContinue", onRequest);
  server.on("connect", (request, socket, head) => void connect(handler, request, socket as Socket, head));
  server.on("upgrade", (request, socket, head) => {
    if (handler.limit.isExceededBy(socket as Socket))
      refuseAndClose(handler, socket as Socket, "upgrade", "full", FULL);
    else forwarder.upgrade(request, socket as Socket, head);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => onClientError(handler, error, socket as Socket));
  server.on("close", () => forwarder.close());
  return server;
}

async function connect(
  handler: ConnectionHandler,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  if (handler.limit.isExceededBy(socket)) {
    refuseAndClose(handler, socket, "connect", "full", FULL);
    return;
  }
  const target = parseAuthority(request.url ?? "", CONNECT_DEFAULT_PORT);
  if (target === undefined) {
    refuseAndClose(handler, socket, "connect", "malformed", NO_TARGET);
    return;
  }
  // Clients may send on without waiting for the answer.
  if (head.length > 0) socket.unshift(head);
  const targetRequest = handler.requestFor("connect", target);
  try {
    const stream = await handler.dial(targetRequest, socket, (stop) => handler.router.open(target, stop));
    handler.established(targetRequest);
    socket.write(CONNECTION_ESTABLISHED, "latin1");
    handler.relay(targetRequest, socket, stream);
  } catch (reason) {
    handler.failed(targetRequest, reason);
    closeLingering(socket, refusalText(httpRefusalOf(reason)));
  }
}

function refuseAndClose(
  handler: ConnectionHandler,
  socket: Socket,
  kind: ClientRequestKind,
  outcome: RequestOutcome,
  refusal: ProxyRefusal,
): void {
  handler.refused(kind, outcome, refusal.text);
  closeLingering(socket, refusalText(refusal));
}

/** What node:http could not read as a request. */
function onClientError(handler: ConnectionHandler, error: NodeJS.ErrnoException, socket: Socket): void {
  const { code = "" } = error;
  if (code === "ECONNRESET" || socket.destroyed) {
    handler.refused("forward", "abandoned", "the client hung up");
    socket.destroy();
  } else if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    const text = "The request was not complete in time.";
    refuseAndClose(handler, socket, "forward", "late", { status: 408, proxyStatus: "http_request_error", text });
  } else if (code === "HPE_HEADER_OVERFLOW") {
    const text = `The request's headers are longer than ${handler.limits.maxHeaderBytes} bytes.`;
    refuseAndClose(handler, socket, "forward", "malformed", { status: 431, proxyStatus: "http_request_error", text });
  } else {
    const text = "This is not an HTTP/1.1 request; the proxy's address needs http:// in front of it, not https://.";
    refuseAndClose(handler, socket, "forward", "malformed", { status: 400, proxyStatus: "http_request_error", text });
  }
}

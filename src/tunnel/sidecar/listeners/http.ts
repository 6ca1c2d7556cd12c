/** The HTTP proxy for its clients: CONNECT here, everything else by the forwarder; what is neither gets an answer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CONNECTION_ESTABLISHED, type ProxyRefusal, parseAuthority, refusalText } from "../../wire/http-proxy.js";
import type { Outcome, Wish } from "../channels.js";
import type { Desk } from "../desk.js";
import { farewell } from "../farewell.js";
import { httpRefusalOf } from "../refusals.js";
import { Forwarder } from "./forwarder.js";
import { refuse } from "./refuse.js";
import { SOCKET_OPTIONS } from "./socket-options.js";

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

export function createHttpProxyServer(desk: Desk): Server {
  const { handshakeTimeoutMs, maxHeaderBytes } = desk.limits;
  const server = createServer({
    ...SOCKET_OPTIONS,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: handshakeTimeoutMs,
    // For the whole request, so long uploads would be cut.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LATENESS_CHECK_MS,
  });
  const forwarder = new Forwarder(desk);
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // An answer to a client that has left is nobody's problem.
    response.on("error", () => {});
    // A server that was closed takes no more requests, not even on connections it has.
    if (!server.listening) response.shouldKeepAlive = false;
    if (desk.gate.isTooMany(request.socket)) {
      desk.turnedAway("forward", "full", FULL.text);
      refuse(response, FULL);
    } else {
      forwarder.forward(request, response);
    }
  };
  server.on("connection", (socket: Socket) => desk.gate.admit(socket));
  server.on("request", onRequest);
  // The target decides whether it wants the body.
  server.on("checkContinue", onRequest);
  server.on("connect", (request, socket, head) => void connect(desk, request, socket as Socket, head));
  server.on("upgrade", (request, socket, head) => {
    if (desk.gate.isTooMany(socket as Socket)) turnAway(desk, socket as Socket, "upgrade", "full", FULL);
    else forwarder.upgrade(request, socket as Socket, head);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => onClientError(desk, error, socket as Socket));
  server.on("close", () => forwarder.close());
  return server;
}

async function connect(desk: Desk, request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
  if (desk.gate.isTooMany(socket)) {
    turnAway(desk, socket, "connect", "full", FULL);
    return;
  }
  const target = parseAuthority(request.url ?? "", CONNECT_DEFAULT_PORT);
  if (target === undefined) {
    turnAway(desk, socket, "connect", "malformed", NO_TARGET);
    return;
  }
  // Clients may send on without waiting for the answer.
  if (head.length > 0) socket.unshift(head);
  const asked = desk.asks("connect", target);
  try {
    const stream = await desk.dial(asked, socket, (stop) => desk.way.open(target, stop));
    desk.established(asked);
    socket.write(CONNECTION_ESTABLISHED, "latin1");
    desk.join(asked, socket, stream);
  } catch (reason) {
    desk.failed(asked, reason);
    farewell(socket, refusalText(httpRefusalOf(reason)));
  }
}

function turnAway(desk: Desk, socket: Socket, wish: Wish, outcome: Outcome, refusal: ProxyRefusal): void {
  desk.turnedAway(wish, outcome, refusal.text);
  farewell(socket, refusalText(refusal));
}

/** What node:http could not read as a request. */
function onClientError(desk: Desk, error: NodeJS.ErrnoException, socket: Socket): void {
  const { code = "" } = error;
  if (code === "ECONNRESET" || socket.destroyed) {
    desk.turnedAway("forward", "abandoned", "the client hung up");
    socket.destroy();
  } else if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    const text = "The request was not complete in time.";
    turnAway(desk, socket, "forward", "late", { status: 408, proxyStatus: "http_request_error", text });
  } else if (code === "HPE_HEADER_OVERFLOW") {
    const text = `The request's headers are longer than ${desk.limits.maxHeaderBytes} bytes.`;
    turnAway(desk, socket, "forward", "malformed", { status: 431, proxyStatus: "http_request_error", text });
  } else {
    const text = "This is not an HTTP/1.1 request; the proxy's address needs http:// in front of it, not https://.";
    turnAway(desk, socket, "forward", "malformed", { status: 400, proxyStatus: "http_request_error", text });
  }
}

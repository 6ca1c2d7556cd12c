/** SOCKS5 for one client: greeting, request, answer; from then on bytes. */
import { createServer, type Server, Socket } from "node:net";
import { connectionOf } from "../../../base/connections.js";
import {
  parseSocks5Greeting,
  parseSocks5Request,
  SOCKS5_METHOD,
  SOCKS5_REPLY,
  socks5MethodChoice,
  socks5Reply,
} from "../../wire/socks5.js";
import type { RequestOutcome } from "../channels.js";
import { type ConnectionHandler, SOCKET_OPTIONS } from "../connection-handler.js";
import { closeLingering } from "../refusals.js";

export function createSocks5Server(handler: ConnectionHandler): Server {
  return createServer(SOCKET_OPTIONS, (socket) => {
    if (handler.limit.admit(socket)) serve(socket, handler);
  });
}

function serve(socket: Socket, handler: ConnectionHandler): void {
  /** Read and not understood yet: never more than the largest message and what came with its last byte. */
  let bytes: Buffer = Buffer.alloc(0);
  let isGreeted = false;

  const stopReading = (): void => {
    cancelLate();
    socket.off("readable", onReadable).off("end", onGone).off("close", onGone);
  };
  const refuse = (outcome: RequestOutcome, why: string, answer: Uint8Array = new Uint8Array()): void => {
    stopReading();
    handler.refused("socks5", outcome, why);
    closeLingering(socket, answer, handler.runtime);
  };
  const onGone = (): void => refuse("abandoned", "the client hung up");
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    if (!isGreeted) readGreeting();
    if (isGreeted) readRequest();
  };
  const readGreeting = (): void => {
    const greeting = parseSocks5Greeting(bytes);
    if (greeting === undefined) return;
    if (greeting.kind === "other-protocol") {
      refuse("malformed", "the first byte is not SOCKS5's version");
    } else if (!greeting.offersNone) {
      refuse("unsupported", "the client insists on authentication", socks5MethodChoice(SOCKS5_METHOD.notAcceptable));
    } else {
      isGreeted = true;
      bytes = bytes.subarray(greeting.bytes);
      socket.write(socks5MethodChoice(SOCKS5_METHOD.none));
    }
  };
  const readRequest = (): void => {
    const request = parseSocks5Request(bytes);
    if (request === undefined) return;
    if (request.kind === "other-protocol") {
      refuse("malformed", "the request does not begin with SOCKS5's version");
    } else if (request.kind === "unusable") {
      const outcome = request.reply === SOCKS5_REPLY.generalFailure ? "malformed" : "unsupported";
      refuse(outcome, request.why, socks5Reply(request.reply));
    } else if (handler.limit.isExceededBy(socket)) {
      refuse("full", "there are too many connections", socks5Reply(SOCKS5_REPLY.generalFailure));
    } else {
      stopReading();
      connectionOf(socket)?.admitted();
      // Clients may send on without waiting for the answer.
      const rest = bytes.subarray(request.bytes);
      if (rest.length > 0) socket.unshift(rest);
      const { host, port } = request;
      void handler.connect("socks5", { host, port }, socket, {
        established: (stream) => socks5Reply(SOCKS5_REPLY.succeeded, stream instanceof Socket ? stream : undefined),
        failed: ({ socks5 }) => socks5Reply(socks5),
      });
    }
  };
  const { handshakeTimeoutMs } = handler.limits;
  const onLate = (): void => {
    refuse("late", `the client sent no usable request within ${handshakeTimeoutMs} ms`);
    socket.destroy();
  };
  const cancelLate = handler.runtime.after(handshakeTimeoutMs, onLate, true);
  socket.on("readable", onReadable).once("end", onGone).once("close", onGone);
}

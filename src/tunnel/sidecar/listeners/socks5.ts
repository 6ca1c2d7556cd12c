/** SOCKS5 for one client: greeting, request, answer; from then on bytes. */
import { createServer, type Server, Socket } from "node:net";
import { connectionOf } from "../../../base/connection.js";
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
    if (handler.limit.admit(socket)) new Socks5Client(socket, handler);
  });
}

class Socks5Client {
  readonly #socket: Socket;
  readonly #handler: ConnectionHandler;
  readonly #late: NodeJS.Timeout;
  /** Read and not understood yet: never more than the largest message and what came with its last byte. */
  #bytes: Buffer = Buffer.alloc(0);
  #greeted = false;

  constructor(socket: Socket, handler: ConnectionHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#late = setTimeout(this.#onLate, handler.limits.handshakeTimeoutMs);
    socket.on("readable", this.#onReadable).once("end", this.#onGone).once("close", this.#onGone);
  }

  readonly #onReadable = (): void => {
    const chunk = this.#socket.read() as Buffer | null;
    if (chunk === null) return;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (!this.#greeted) this.#greet();
    if (this.#greeted) this.#readRequest();
  };

  #greet(): void {
    const greeting = parseSocks5Greeting(this.#bytes);
    if (greeting === undefined) return;
    if (greeting.kind === "other-protocol") {
      this.#refuse("malformed", "the first byte is not SOCKS5's version");
    } else if (!greeting.offersNone) {
      const refusal = socks5MethodChoice(SOCKS5_METHOD.notAcceptable);
      this.#refuse("unsupported", "the client insists on authentication", refusal);
    } else {
      this.#greeted = true;
      this.#bytes = this.#bytes.subarray(greeting.bytes);
      this.#socket.write(socks5MethodChoice(SOCKS5_METHOD.none));
    }
  }

  #readRequest(): void {
    const request = parseSocks5Request(this.#bytes);
    if (request === undefined) return;
    if (request.kind === "other-protocol") {
      this.#refuse("malformed", "the request does not begin with SOCKS5's version");
    } else if (request.kind === "unusable") {
      const outcome = request.reply === SOCKS5_REPLY.generalFailure ? "malformed" : "unsupported";
      this.#refuse(outcome, request.why, socks5Reply(request.reply));
    } else if (this.#handler.limit.isExceededBy(this.#socket)) {
      this.#refuse("full", "there are too many connections", socks5Reply(SOCKS5_REPLY.generalFailure));
    } else {
      this.#stopReading();
      connectionOf(this.#socket)?.admitted();
      // Clients may send on without waiting for the answer.
      const rest = this.#bytes.subarray(request.bytes);
      if (rest.length > 0) this.#socket.unshift(rest);
      const { host, port } = request;
      void this.#handler.connect("socks5", { host, port }, this.#socket, {
        established: (stream) => socks5Reply(SOCKS5_REPLY.succeeded, stream instanceof Socket ? stream : undefined),
        failed: ({ socks5 }) => socks5Reply(socks5),
      });
    }
  }

  readonly #onLate = (): void => {
    this.#refuse("late", `the client sent no usable request within ${this.#handler.limits.handshakeTimeoutMs} ms`);
    this.#socket.destroy();
  };

  readonly #onGone = (): void => this.#refuse("abandoned", "the client hung up");

  #refuse(outcome: RequestOutcome, why: string, words: Uint8Array = new Uint8Array()): void {
    this.#stopReading();
    this.#handler.refused("socks5", outcome, why);
    closeLingering(this.#socket, words);
  }

  #stopReading(): void {
    clearTimeout(this.#late);
    this.#socket.off("readable", this.#onReadable).off("end", this.#onGone).off("close", this.#onGone);
  }
}

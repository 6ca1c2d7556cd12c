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
import type { Outcome } from "../channels.js";
import type { Desk } from "../desk.js";
import { farewell } from "../farewell.js";
import { socks5ReplyTo } from "../refusals.js";
import type { Target } from "../way.js";
import { SOCKET_OPTIONS } from "./socket-options.js";

export function createSocks5Server(desk: Desk): Server {
  return createServer(SOCKET_OPTIONS, (socket) => {
    if (desk.gate.admit(socket)) new Socks5Client(socket, desk);
  });
}

class Socks5Client {
  readonly #socket: Socket;
  readonly #desk: Desk;
  readonly #late: NodeJS.Timeout;
  /** Read and not understood yet: never more than the largest message and what came with its last byte. */
  #bytes: Buffer = Buffer.alloc(0);
  #greeted = false;

  constructor(socket: Socket, desk: Desk) {
    this.#socket = socket;
    this.#desk = desk;
    this.#late = setTimeout(this.#onLate, desk.limits.handshakeTimeoutMs);
    socket.on("readable", this.#onReadable).once("end", this.#onGone).once("close", this.#onGone);
  }

  readonly #onReadable = (): void => {
    const chunk = this.#socket.read() as Buffer | null;
    if (chunk === null) return;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (!this.#greeted) this.#greet();
    if (this.#greeted) this.#hearRequest();
  };

  #greet(): void {
    const greeting = parseSocks5Greeting(this.#bytes);
    if (greeting === undefined) return;
    if (greeting.kind === "other-protocol") {
      this.#turnAway("malformed", "the first byte is not SOCKS5's version");
    } else if (!greeting.offersNone) {
      const refusal = socks5MethodChoice(SOCKS5_METHOD.notAcceptable);
      this.#turnAway("unsupported", "the client insists on authentication", refusal);
    } else {
      this.#greeted = true;
      this.#bytes = this.#bytes.subarray(greeting.bytes);
      this.#socket.write(socks5MethodChoice(SOCKS5_METHOD.none));
    }
  }

  #hearRequest(): void {
    const request = parseSocks5Request(this.#bytes);
    if (request === undefined) return;
    if (request.kind === "other-protocol") {
      this.#turnAway("malformed", "the request does not begin with SOCKS5's version");
    } else if (request.kind === "unusable") {
      const outcome = request.reply === SOCKS5_REPLY.generalFailure ? "malformed" : "unsupported";
      this.#turnAway(outcome, request.why, socks5Reply(request.reply));
    } else if (this.#desk.gate.isTooMany(this.#socket)) {
      this.#turnAway("full", "there are too many connections", socks5Reply(SOCKS5_REPLY.generalFailure));
    } else {
      this.#letGo();
      connectionOf(this.#socket)?.settled();
      // Clients may send on without waiting for the answer.
      const rest = this.#bytes.subarray(request.bytes);
      if (rest.length > 0) this.#socket.unshift(rest);
      void this.#connect(request);
    }
  }

  async #connect({ host, port }: Target): Promise<void> {
    const target = { host, port };
    const asked = this.#desk.asks("socks5", target);
    try {
      const stream = await this.#desk.dial(asked, this.#socket, (stop) => this.#desk.way.open(target, stop));
      this.#desk.established(asked);
      const { localAddress: address, localPort: near } = stream instanceof Socket ? stream : {};
      const bound = address === undefined || near === undefined ? undefined : { address, port: near };
      this.#socket.write(socks5Reply(SOCKS5_REPLY.succeeded, bound));
      this.#desk.join(asked, this.#socket, stream);
    } catch (reason) {
      this.#desk.failed(asked, reason);
      farewell(this.#socket, socks5Reply(socks5ReplyTo(reason)));
    }
  }

  readonly #onLate = (): void => {
    this.#turnAway("late", `the client said nothing usable within ${this.#desk.limits.handshakeTimeoutMs} ms`);
    this.#socket.destroy();
  };

  readonly #onGone = (): void => this.#turnAway("abandoned", "the client hung up");

  #turnAway(outcome: Outcome, why: string, words: Uint8Array = new Uint8Array()): void {
    this.#letGo();
    this.#desk.turnedAway("socks5", outcome, why);
    farewell(this.#socket, words);
  }

  #letGo(): void {
    clearTimeout(this.#late);
    this.#socket.off("readable", this.#onReadable).off("end", this.#onGone).off("close", this.#onGone);
  }
}

/** One connection at an HTTP CONNECT door, from its request head to the tunnel. */
import type { Socket } from "node:net";
import type { Port } from "../../tunnel/port.js";
import { SocketPort } from "../../tunnel/socket-port.js";
import {
  BAD_REQUEST,
  dialFailed,
  ESTABLISHED,
  gatewayTrouble,
  methodNotAllowed,
  noTunnels,
  parseConnectRequest,
} from "../../wire/connect.js";
import { statusOfDialError } from "../../wire/dial-error.js";
import type { ConnectId, DialId } from "../../wire/packet.js";
import type { Caller, Refusal } from "../caller.js";
import { type Dial, newDialId } from "../dial.js";
import type { Switchboard } from "../switchboard.js";

/** Go's own limit for the head to arrive. */
const HEAD_DEADLINE_MS = 60_000;

/** What a caller may send behind its head before the dial is answered; more waits in the socket. */
const EARLY_BYTES = 64 * 1024;

/** A refused caller gets its answer, and this long to take it. */
const GOODBYE_MS = 10_000;

export class ConnectCaller implements Caller {
  readonly frontend = "http-connect";
  readonly protocol = "tcp";
  readonly dialId: DialId = newDialId();
  address = "";

  readonly #socket: Socket;
  readonly #board: Switchboard;
  #dial: Dial | undefined;
  /** Bytes of the head, then bytes that came early. */
  #early: Buffer = EMPTY;
  #cancelDeadline: (() => void) | undefined;
  #gone = false;

  constructor(socket: Socket, board: Switchboard) {
    this.#socket = socket;
    this.#board = board;
    this.#cancelDeadline = board.clock.after(HEAD_DEADLINE_MS, () => socket.destroy());
    socket.on("data", this.#onBytes);
    socket.on("end", this.#onHangUp);
    socket.on("close", this.#onHangUp);
    socket.on("error", () => {});
  }

  readonly #onBytes = (chunk: Buffer): void => {
    this.#early = this.#early.length === 0 ? chunk : Buffer.concat([this.#early, chunk]);
    if (this.#dial !== undefined) {
      // Still reading, so that a hang-up is noticed; but not without a bound.
      if (this.#early.length > EARLY_BYTES) this.#socket.pause();
      return;
    }
    this.#readHead();
  };

  #readHead(): void {
    const request = parseConnectRequest(this.#early);
    if (request === undefined) return;
    if (request.kind === "malformed") {
      this.#goodbye(BAD_REQUEST);
      return;
    }
    this.#early = this.#early.subarray(request.headBytes);
    if (request.kind === "other-method") {
      // A caller that does not wait for its answer gets no further ones to pile up.
      const keepAlive = request.keepAlive && this.#early.length === 0 && this.#socket.writableLength === 0;
      const answer = methodNotAllowed(new Date(), keepAlive);
      if (keepAlive) this.#socket.write(answer);
      else this.#goodbye(answer);
      return;
    }
    this.#cancelDeadline?.();
    this.address = request.target;
    this.#dial = this.#board.dial(this);
  }

  readonly #onHangUp = (): void => {
    if (this.#gone) return;
    this.#gone = true;
    this.#cancelDeadline?.();
    this.#dial?.cancel();
    this.#socket.destroySoon();
  };

  accept(_connectId: ConnectId): Port | undefined {
    if (this.#gone || this.#socket.destroyed) return undefined;
    const socket = this.#socket;
    this.#detach();
    // On its own and before anything else: kube-apiserver refuses a 200 with bytes behind it.
    socket.write(ESTABLISHED);
    return new ConnectPort(socket, this.#board, this.#early);
  }

  refuse(refusal: Refusal): void {
    // Upstream writes nothing when the agent itself closed the dial.
    if (refusal.kind === "closed-by-agent") this.#goodbye("");
    else this.#goodbye(answerTo(refusal));
  }

  #goodbye(answer: string): void {
    const socket = this.#socket;
    this.#gone = true;
    this.#detach();
    this.#cancelDeadline?.();
    // Without reading on, a reset could overtake the answer.
    socket.resume();
    if (answer !== "") socket.write(answer, "latin1");
    socket.destroySoon();
    if (!socket.destroyed) {
      const cancel = this.#board.clock.after(GOODBYE_MS, () => socket.destroy());
      socket.once("close", cancel);
    }
  }

  #detach(): void {
    this.#socket.off("data", this.#onBytes);
    this.#socket.off("end", this.#onHangUp);
    this.#socket.off("close", this.#onHangUp);
  }
}

const EMPTY = Buffer.alloc(0);

function answerTo(refusal: Exclude<Refusal, { kind: "closed-by-agent" }>): string {
  switch (refusal.kind) {
    case "no-agent":
      return noTunnels(refusal.text);
    case "agent-lost":
      return gatewayTrouble(502, "Backend context error: context canceled");
    case "timeout":
      return gatewayTrouble(504, "Backend dial timeout: timed out waiting for backend dial");
    case "dial-error":
      return dialFailed(statusOfDialError(refusal.text), Buffer.from(refusal.text, "utf8").toString("latin1"));
  }
}

/** A socket port that first hands on what the caller sent before its dial was answered. */
class ConnectPort extends SocketPort {
  readonly #early: Buffer;
  readonly #socket: Socket;

  constructor(socket: Socket, board: Switchboard, early: Buffer) {
    super(socket, board.clock);
    this.#socket = socket;
    this.#early = early;
  }

  override attach(near: Parameters<SocketPort["attach"]>[0]): void {
    super.attach(near);
    this.#socket.resume();
    // Bytes are only emitted in a later turn, so these stay the first.
    if (this.#early.length > 0) near.onNearData(this.#early);
  }
}

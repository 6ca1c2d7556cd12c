/** One connection at an HTTP CONNECT frontend, from its request head to the tunnel. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { GatheredBytes } from "../../../base/byte-queue.js";
import { connectionOf } from "../../../base/connections.js";
import { SocketPort } from "../../connection/socket-port.js";
import type { NearEvents, Port } from "../../connection/tunnel.js";
import { callerAccepted } from "../../events/channels.js";
import { strangeTls } from "../../link/listener.js";
import type { PeerTrust, Refusal } from "../../link/peer-trust.js";
import { type PeerRefusal, remoteOf } from "../../link/tls-listener.js";
import {
  BAD_REQUEST,
  dialFailed,
  ESTABLISHED,
  forbidden,
  gatewayError,
  methodNotAllowed,
  noTunnels,
  parseConnectRequest,
} from "../../wire/connect.js";
import { statusOfDialError } from "../../wire/dial-error.js";
import { newDialId } from "../../wire/dial-id.js";
import type { ConnectId, DialId } from "../../wire/packet.js";
import type { Caller, Dial, DialRefusal } from "../dial.js";
import type { Switchboard } from "../switchboard.js";

/** Bytes that a caller may send behind its head before the dial is answered; more wait in the socket. */
const EARLY_BYTES = 64 * 1024;

export class ConnectCaller implements Caller, NearEvents {
  readonly frontend = "http-connect";
  readonly protocol = "tcp";
  dialId: DialId = 0n;
  address = "";

  readonly #socket: Socket;
  readonly #port: SocketPort;
  readonly #board: Switchboard;
  readonly #trust: PeerTrust | undefined;
  readonly #onRefused: (peer: PeerRefusal) => void;
  #dial: Dial | undefined;
  /** Bytes of the head, then bytes that came early. */
  readonly #early = new GatheredBytes();
  #gone = false;

  /** `trust` judges the certificates of callers that have to have one. */
  constructor(
    socket: Socket,
    board: Switchboard,
    trust: PeerTrust | undefined,
    onRefused: (peer: PeerRefusal) => void,
  ) {
    this.#socket = socket;
    this.#board = board;
    this.#trust = trust;
    this.#onRefused = onRefused;
    this.#port = new SocketPort(socket, board.runtime);
    this.#port.attach(this);
  }

  onNearData(chunk: Uint8Array): void {
    const before = this.#early.length;
    this.#early.append(chunk);
    if (this.#dial === undefined) this.#readHead(before);
    // Still reading, so that a hang-up is noticed; but not without a bound.
    else if (this.#early.length > EARLY_BYTES) this.#socket.pause();
  }

  /** The first `seen` bytes did not hold all of it. */
  #readHead(seen: number): void {
    const request = parseConnectRequest(this.#early.bytes, seen);
    if (request === undefined && (seen > 0 || this.#early.bytes[0] !== TLS_HANDSHAKE)) return;
    if (request === undefined || request.kind === "malformed") {
      this.#turnAway(BAD_REQUEST, malformed(this.#early.bytes, this.#socket));
      return;
    }
    const refusal = this.#trust?.refusal(this.#socket as TLSSocket);
    if (refusal !== undefined) {
      this.#turnAway(forbidden(refusal.reason), refusal);
      return;
    }
    this.#early.drop(request.headBytes);
    if (request.kind === "other-method") {
      // A caller that does not wait for its answer gets no further ones to pile up.
      const keepAlive = request.keepAlive && this.#early.length === 0 && this.#socket.writableLength === 0;
      const answer = methodNotAllowed(new Date(this.#board.runtime.date()), keepAlive);
      const reason = "it sent an HTTP request other than CONNECT";
      this.#onRefused({ remote: remoteOf(this.#socket), code: "DB_PEER_PROTOCOL", reason });
      if (keepAlive) this.#socket.write(answer);
      else this.#refuseAndClose(answer);
      return;
    }
    connectionOf(this.#socket)?.admitted();
    const { source } = this.#board;
    const tlsSocket = this.#trust === undefined ? undefined : (this.#socket as TLSSocket);
    callerAccepted.publish({ source, listener: "http-connect frontend", remote: remoteOf(this.#socket), tlsSocket });
    this.address = request.target;
    this.#port.wantsAlert = request.wantsAlert;
    this.dialId = request.dialId ?? newDialId(this.#board.runtime);
    this.#dial = this.#board.dial(this);
  }

  #turnAway(answer: string, refusal: Refusal): void {
    this.#onRefused({ remote: remoteOf(this.#socket), ...refusal });
    this.#refuseAndClose(answer);
  }

  onNearEnd(): void {
    this.#hangUp();
  }

  onNearClosed(): void {
    this.#hangUp();
  }

  onNearLost(): void {
    this.#hangUp();
  }

  onNearDrained(): void {}

  #hangUp(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#dial?.cancel();
    this.#port.close();
  }

  accept(_connectId: ConnectId): Port | undefined {
    if (this.#gone || this.#socket.destroyed) return undefined;
    this.#gone = true;
    // On its own and before anything else: kube-apiserver refuses a 200 with bytes behind it.
    this.#socket.write(ESTABLISHED);
    this.#port.hold(this.#early.bytes);
    this.#port.resume();
    return this.#port;
  }

  refuse(refusal: DialRefusal): void {
    this.#refuseAndClose(answerTo(refusal));
  }

  #refuseAndClose(answer: string): void {
    this.#gone = true;
    this.#port.attach(NOBODY);
    // Without reading on, a reset could overtake the answer.
    this.#port.resume();
    if (answer !== "") this.#socket.write(answer, "latin1");
    this.#port.close();
  }
}

/** The first byte of whoever speaks TLS where none is spoken. */
const TLS_HANDSHAKE = 0x16;
const HTTP2 = "PRI * HTTP/2.0";

function malformed(bytes: Buffer, socket: Socket): Refusal {
  if (bytes[0] === TLS_HANDSHAKE) return strangeTls(socket instanceof TLSSocket);
  if (bytes.toString("latin1", 0, HTTP2.length) !== HTTP2) {
    return { code: "DB_PEER_PROTOCOL", reason: "its first bytes are not an HTTP CONNECT request" };
  }
  const reason = "it speaks HTTP/2, as gRPC callers and agents do, and this frontend takes HTTP CONNECT";
  return { code: "DB_PEER_WRONG_PORT", reason };
}

/** Ignores whatever a refused caller still sends. */
const NOBODY: NearEvents = { onNearData() {}, onNearEnd() {}, onNearClosed() {}, onNearLost() {}, onNearDrained() {} };

function answerTo({ kind, text }: DialRefusal): string {
  switch (kind) {
    case "no-agent":
      return noTunnels(text);
    case "agent-lost":
      return gatewayError(502, text);
    case "timeout":
      return gatewayError(504, `Backend dial timeout: ${text}`);
    case "dial-error":
      return dialFailed(statusOfDialError(text), Buffer.from(text, "utf8").toString("latin1"));
    case "closed-by-agent":
      // Upstream writes nothing when the agent itself closed the dial.
      return "";
  }
}

/** One Proxy stream at a gRPC frontend: one dial, one connection, then nothing more. */

import { ByteQueue } from "../../../base/byte-queue.js";
import { plainText } from "../../../base/text.js";
import type { NearEvents, Port } from "../../connection/tunnel.js";
import { GrpcStatus } from "../../link/grpc-status.js";
import type { PacketStream, StreamEnd, StreamOwner } from "../../link/packet-stream.js";
import type { ConnectId, ControlPacket, DialId } from "../../wire/packet.js";
import type { Caller, Dial, DialRefusal } from "../dial.js";
import type { Switchboard } from "../switchboard.js";

const DIALLED_ALREADY = "this stream has dialled already; open another for a second connection";

const MAX_ERROR_CHARS = 300;

/** waiting -> dialing -> open -> done; packets of a caller that is done are read and ignored, as upstream does. */
type State = "waiting" | "dialing" | "open" | "done";

export class GrpcCaller implements Caller, StreamOwner {
  readonly frontend = "grpc";
  protocol = "tcp";
  address = "";
  dialId: DialId = 0n;

  readonly #board: Switchboard;
  readonly #onStreamClosed: (end: StreamEnd) => void;
  readonly stream: PacketStream;
  readonly calledAt: number;
  #state: State = "waiting";
  #dial: Dial | undefined;
  #port: GrpcPort | undefined;

  constructor(
    board: Switchboard,
    openStream: (owner: StreamOwner) => PacketStream,
    onStreamClosed: (end: StreamEnd) => void,
  ) {
    this.#board = board;
    this.#onStreamClosed = onStreamClosed;
    this.calledAt = board.runtime.now();
    this.stream = openStream(this);
  }

  get hasAsked(): boolean {
    return this.#state !== "waiting";
  }

  // ---- packets from the caller -------------------------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    if (this.#state === "done" || connectId === 0) return;
    if (this.#state === "waiting") this.#stop({ type: "CLOSE_RSP", connectId, error: "backend not initialized" });
    else if (this.#port === undefined || this.#port.connectId !== connectId) this.#onForeignData(connectId);
    else this.#port.near?.onNearData(chunk);
  }

  /** A caller may only write to its own connection: both are closed towards it, ours also at the agent. */
  #onForeignData(connectId: ConnectId): void {
    const error = "mismatched connection IDs";
    const own = this.#port;
    this.#stop({ type: "CLOSE_RSP", connectId, error });
    if (own !== undefined) {
      own.close(error);
      own.near?.onNearLost(error);
    } else this.#dial?.cancel();
  }

  onControl(packet: ControlPacket): void {
    if (this.#state === "done") return;
    switch (packet.type) {
      case "DIAL_REQ":
        if (this.#state === "waiting") this.#startDial(packet);
        // One stream carries one connection; upstream would mix two up.
        else this.stream.control({ type: "DIAL_RSP", error: DIALLED_ALREADY, connectId: 0, random: packet.random });
        break;
      case "DIAL_CLS":
        if (packet.random === this.dialId && this.#state === "dialing") {
          this.#state = "done";
          this.#dial?.cancel();
        } else if (packet.random === this.dialId && this.#state === "open") {
          // It crossed our answer: the caller does not know of the connection, so nobody else would ever close it.
          this.#state = "done";
          this.#port?.near?.onNearClosed("the caller gave the dial up");
        }
        break;
      case "CLOSE_REQ":
        this.#onCloseRequest(packet.connectId, packet.error);
        break;
      default:
        break;
    }
  }

  #startDial(packet: { protocol: string; address: string; random: DialId }): void {
    this.#state = "dialing";
    this.protocol = packet.protocol;
    this.address = packet.address;
    this.dialId = packet.random;
    this.#dial = this.#board.dial(this);
  }

  #onCloseRequest(connectId: ConnectId, error = ""): void {
    if (this.#state === "waiting") {
      this.stream.control({ type: "CLOSE_RSP", connectId, error: "backend uninitialized" });
      return;
    }
    this.#state = "done";
    if (this.#port === undefined) this.#dial?.cancel();
    else if (error === "") this.#port.near?.onNearClosed("the caller closed the connection");
    else this.#port.near?.onNearLost(`the caller closed the connection: ${plainText(error.slice(0, MAX_ERROR_CHARS))}`);
  }

  #stop(lastWord: ControlPacket): void {
    this.#state = "done";
    this.stream.control(lastWord);
  }

  // ---- answers to the caller ---------------------------------------------------------------------------------------

  accept(connectId: ConnectId): Port | undefined {
    if (this.#state !== "dialing" || this.stream.closed) return undefined;
    this.#state = "open";
    this.stream.control({ type: "DIAL_RSP", error: "", connectId, random: this.dialId });
    this.#port = new GrpcPort(connectId, this.stream);
    return this.#port;
  }

  refuse({ kind, text: error }: DialRefusal): void {
    if (kind === "closed-by-agent") this.#stop({ type: "DIAL_CLS", random: this.dialId });
    else this.#stop({ type: "DIAL_RSP", error, connectId: 0, random: this.dialId });
  }

  // ---- the stream --------------------------------------------------------------------------------------------------

  onSettle(): void {}

  onDrain(): void {
    this.#port?.drained();
  }

  onEmpty(): void {
    this.#port?.drained();
  }

  onRemoteEnd(): void {
    this.#gone("the caller ended its stream", true);
    this.stream.end();
  }

  onClosed(end: StreamEnd): void {
    this.#gone(end.reason, end.status === GrpcStatus.OK);
    this.#onStreamClosed(end);
  }

  #gone(reason: string, inOrder: boolean): void {
    const state = this.#state;
    this.#state = "done";
    if (state === "dialing") this.#dial?.cancel();
    else if (inOrder) this.#port?.near?.onNearClosed(reason);
    else this.#port?.near?.onNearLost(reason);
  }
}

/** While the caller lags, fewer bytes are not worth a packet of their own: each costs twenty more. */
const LEAST_BYTES = 8 * 1024;

/** A gRPC caller's side of an established tunnel: bytes travel as DATA packets on its stream. */
export class GrpcPort implements Port {
  /** The protocol towards callers has no packet for it. */
  readonly canHalfClose = false;
  near: NearEvents | undefined;
  readonly connectId: ConnectId;
  readonly #stream: PacketStream;
  /** Bytes of this turn, and bytes that wait until the caller has taken those before. */
  readonly #queue = new ByteQueue();
  #closed = false;

  constructor(connectId: ConnectId, stream: PacketStream) {
    this.connectId = connectId;
    this.#stream = stream;
  }

  get queuedBytes(): number {
    return this.#stream.queuedBytes + this.#queue.length;
  }

  attach(near: NearEvents): void {
    this.near = near;
  }

  write(chunk: Buffer): void {
    this.#queue.push(chunk);
  }

  flush(): void {
    if (this.#queue.length === 0) return;
    while (this.#queue.length > 0 && !this.#lags) this.#stream.data(this.connectId, this.#queue.shift()!);
    this.#queue.settle();
  }

  get #lags(): boolean {
    const stream = this.#stream;
    return stream.congested || (stream.queuedBytes >= LEAST_BYTES && this.#queue.length < LEAST_BYTES);
  }

  /** The stream takes bytes again, or has sent them all. */
  drained(): void {
    this.flush();
    this.near?.onNearDrained();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  end(): void {
    this.close();
  }

  /** The caller ends the stream once it has read this. */
  close(error = ""): void {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#stream.data(this.connectId, this.#queue.shift()!);
    this.#stream.control({ type: "CLOSE_RSP", connectId: this.connectId, error });
    // Whatever it still sends is read and thrown away, so that its own end is noticed.
    this.#stream.resume();
  }

  destroy(): void {
    this.close();
  }

  /** The caller's own client may make an end of it: upstream's does. */
  cut(reason: string, now: boolean): void {
    if (!now) {
      this.close(reason);
      return;
    }
    this.#closed = true;
    this.#queue.clear();
    this.#stream.cancel("the caller did not read");
  }
}

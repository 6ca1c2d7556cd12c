/**
 * One bidirectional gRPC stream of packets, as both ends of a link and both kinds of frontend peer see it.
 * Bytes in: HTTP/2 stream -> PacketReader -> owner. Bytes out: owner -> Outbox -> HTTP/2 stream.
 */
import type { Runtime } from "../../base/runtime.js";
import { type ConnectId, type ControlPacket, WireError } from "../wire/packet.js";
import { type PacketHandler, PacketReader } from "../wire/packet-reader.js";
import { decodeGrpcMessage, encodeGrpcMessage, GrpcStatus, goCodeName, statusOfReset } from "./grpc-status.js";
import { Http2ErrorCode } from "./h2/frames.js";
import type { Headers, Stream } from "./h2/stream.js";
import { Outbox } from "./outbox.js";
import { PacketMeter, type PacketObserver, type SegmentCounters } from "./packet-meter.js";

/** Events of a stream, for its owner. */
export interface StreamOwner extends PacketHandler {
  /** Once per turn after packets came in: time to let corked destinations go. */
  onSettle(): void;
  /** The stream takes bytes again after it was congested. */
  onDrain(): void;
  /** Everything sent so far was taken by the transport. */
  onEmpty(): void;
  /** The peer ended its side in good order; nothing more will come. */
  onRemoteEnd(): void;
  /** The stream has ended, in whatever way; called exactly once, last. */
  onClosed(end: StreamEnd): void;
}

export interface StreamEnd {
  /** gRPC status number; 0 for a good end. */
  readonly status: number;
  readonly reason: string;
}

export interface PacketStreamOptions {
  readonly received: SegmentCounters;
  readonly sent: SegmentCounters;
  /** Both ends are drawbridge and agreed on credit and end-of-stream. */
  readonly extended?: boolean;
  /** Is shown every packet's header, in both directions. */
  readonly observer?: PacketObserver | undefined;
}

/** Of a chunk this large more follows in the same read of the socket, since each TLS record comes as a chunk of its own. */
const BULK_BYTES = 8 * 1024;
/** A socket may be read many times in one turn: what has come by then is settled in any case, so that queues keep their bounds. */
const MOST_UNSETTLED_BYTES = 64 * 1024;

export class PacketStream {
  readonly extended: boolean;
  readonly received: PacketMeter;
  readonly sent: PacketMeter;
  readonly #stream: Stream;
  readonly #runtime: Runtime;
  readonly #owner: StreamOwner;
  readonly #outbox: Outbox;
  readonly #reader: PacketReader;
  #settleScheduled = false;
  #unsettledBytes = 0;
  closed = false;
  /** Our side has ended, or ends once everything is sent. */
  ending = false;
  #full = false;
  #end: StreamEnd | undefined;

  constructor(stream: Stream, owner: StreamOwner, options: PacketStreamOptions) {
    const { received, sent, extended = false, observer } = options;
    this.extended = extended;
    this.#stream = stream;
    this.#runtime = stream.session.runtime;
    this.#owner = owner;
    this.received = new PacketMeter(received, "received", observer);
    this.sent = new PacketMeter(sent, "sent", observer);
    this.#reader = new PacketReader(owner, this.received);
    this.#outbox = new Outbox(
      stream,
      this.sent,
      () => owner.onDrain(),
      () => {
        owner.onEmpty();
        this.#endIfSent();
      },
      this.#onFull,
    );
    stream.onData = this.#onBytes;
    stream.on("trailers", (trailers) => this.#onTrailers(trailers));
    stream.on("end", () => {
      if (!this.closed) owner.onRemoteEnd();
    });
    stream.on("close", () => this.#finish(this.#end ?? this.#endFromReset()));
  }

  /** Bytes waiting for the transport, the part it holds back included. */
  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  /** Round trip of the last ping on its connection. */
  get roundTripMs(): number | undefined {
    return this.#stream.session.roundTripMs;
  }

  get congested(): boolean {
    return this.#outbox.congested;
  }

  /** Copies the payload. Returns false when the source should pause until onDrain. */
  data(connectId: ConnectId, payload: Uint8Array): boolean {
    return this.#outbox.data(connectId, payload);
  }

  control(packet: ControlPacket): void {
    this.#outbox.control(packet);
  }

  /** From here on the packets of this connection are nobody's traffic, and those of the one before are again. */
  leaveUncounted(connectId: ConnectId): void {
    this.sent.uncounted = connectId;
    this.received.uncounted = connectId;
  }

  /** Stops reading: HTTP/2's own flow control then holds the peer back. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Ends our side in good order once everything is sent. */
  end(): void {
    this.ending = true;
    this.#endIfSent();
  }

  #endIfSent(): void {
    if (!this.ending || this.closed || this.#outbox.queuedBytes > 0) return;
    this.#outbox.close();
    this.#stream.end(this.#stream.isServer ? { "grpc-status": "0", "grpc-message": "" } : {});
  }

  /** Ends the stream with a gRPC status; what was not sent yet is lost. For servers: the peer reads status and text. */
  fail(status: number, message: string): void {
    if (this.closed) return;
    this.#end ??= { status, reason: message };
    this.#outbox.close();
    const stream = this.#stream;
    if (stream.isServer) stream.end({ "grpc-status": String(status), "grpc-message": encodeGrpcMessage(message) });
    else stream.close(Http2ErrorCode.CANCEL);
    this.#finish(this.#end);
  }

  /** Drops the stream at once. */
  cancel(reason: string): void {
    if (this.closed) return;
    this.#end ??= { status: GrpcStatus.CANCELLED, reason };
    this.#stream.close(Http2ErrorCode.CANCEL);
    this.#finish(this.#end);
  }

  /** Ends our side in good order, and with this reason the whole stream once the peer has read everything and ends it, too. */
  leave(reason: string): void {
    this.#end ??= { status: GrpcStatus.CANCELLED, reason };
    this.end();
  }

  /** Drops the connection below, and with it whatever else it carries. */
  destroySession(): void {
    this.#stream.session.destroy();
  }

  /** Later, so that the sender of the packet that was one too many need not expect the stream's end. */
  readonly #onFull = (): void => {
    if (this.#full) return;
    this.#full = true;
    this.#runtime.next(() => this.fail(GrpcStatus.RESOURCE_EXHAUSTED, "the peer does not read what it is sent"));
  };

  readonly #onBytes = (chunk: Buffer): void => {
    if (this.closed) return;
    if (!this.#settleScheduled) {
      this.#settleScheduled = true;
      this.received.turn();
      if (chunk.length < BULK_BYTES) this.#runtime.next(this.#settle);
      else this.#runtime.soon(this.#settle);
    }
    const before = this.#unsettledBytes;
    this.#unsettledBytes += chunk.length;
    if (before < MOST_UNSETTLED_BYTES && this.#unsettledBytes >= MOST_UNSETTLED_BYTES) this.#runtime.next(this.#settle);
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.fail(GrpcStatus[error.status], error.message);
    }
  };

  /** A server that ends a call says why. */
  #onTrailers(trailers: Headers): void {
    const status = Number(trailers["grpc-status"] ?? GrpcStatus.OK);
    if (status === GrpcStatus.OK) return;
    this.#end ??= {
      status,
      reason: `${goCodeName(status)}: ${decodeGrpcMessage(String(trailers["grpc-message"] ?? ""))}`,
    };
  }

  readonly #settle = (): void => {
    if (!this.#settleScheduled) return;
    this.#settleScheduled = false;
    this.#unsettledBytes = 0;
    this.#owner.onSettle();
  };

  #endFromReset(): StreamEnd {
    const code = this.#stream.resetCode;
    const { isServer, session } = this.#stream;
    if (code === undefined || code === Http2ErrorCode.NO_ERROR)
      return { status: GrpcStatus.OK, reason: isServer ? "it was stopped" : "end of stream" };
    // To a server every caller that vanishes has cancelled; a client asks why its server did.
    const lost = session.destroyed;
    return {
      status: isServer ? GrpcStatus.CANCELLED : statusOfReset(lost ? undefined : code),
      reason: lost ? (session.failure ?? "the connection was lost") : resetReason(code),
    };
  }

  #finish(end: StreamEnd): void {
    if (this.closed) return;
    this.closed = true;
    this.#outbox.close();
    this.#owner.onClosed(end);
  }
}

const resetReason = (code: number): string =>
  code === Http2ErrorCode.CANCEL ? "the stream was cancelled" : `the stream was reset with HTTP/2 code ${code}`;

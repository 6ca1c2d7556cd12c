/**
 * One HTTP/2 connection (RFC 9113), as much of it as gRPC peers use: both roles, flow control, pings, no push and no
 * priorities. DATA is handed on while its frame still arrives; all other frames are small and gathered whole.
 */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Cuttable, endWhenRead } from "../../../base/cut-socket.js";
import { linger } from "../../../base/linger.js";
import { type Runtime, systemRuntime } from "../../../base/runtime.js";
import { plainText } from "../../../base/text.js";
import { transportFailure } from "../transport-failure.js";
import { ControlQueue } from "./control-queue.js";
import { FloodGuard } from "./flood-guard.js";
import {
  bare,
  DEFAULT_WINDOW_BYTES,
  FrameFlag,
  type FrameHandler,
  FrameReader,
  FrameType,
  frame,
  goaway,
  Http2ErrorCode,
  MAX_FRAME_BYTES,
  MAX_HTTP2_WINDOW_BYTES,
  PREFACE,
  SessionError,
  Setting,
  settings,
  uint32s,
} from "./frames.js";
import { encodeHeaders, type Header, HeaderDecoder, MAX_LIST_BYTES } from "./hpack.js";
import { Stream } from "./stream.js";

export interface SessionOptions {
  /** Also for whatever is built on the session. Default: the system's. */
  readonly runtime?: Runtime | undefined;
  readonly isServer: boolean;
  /** Bytes that the peer may have sent on one stream before they are read. */
  readonly streamWindowBytes: number;
  /** The same for all streams together; it only bounds bytes in transit, since it is given back on arrival. */
  readonly sessionWindowBytes: number;
  /** Streams the peer may have open at once (servers only; unlimited when absent). */
  readonly maxStreams?: number;
  /** A call has come in (servers only). */
  readonly onStream?: (stream: Stream, fields: readonly Header[]) => void;
}

interface SessionEvents {
  /** The peer asks us to go elsewhere; open streams go on. */
  goaway: [code: number];
  close: [];
}

const MAX_HEADER_BLOCK_BYTES = 64 * 1024;
/** No gRPC message begins or goes on in less, except at the end of a frame that was full. */
const LEAST_DATA_BYTES = 5;
/** A peer may not have read our settings yet; one that goes on for so many times the bound does not mean to. */
const MAX_REFUSALS = 10;
/** Of what a peer says when it goes. */
const MAX_WHY_BYTES = 1024;
/** How long a peer that broke the protocol may take to read why. */
const TELL_MS = 1_000;
/** How long the last frames of others may take. */
const LINGER_MS = 10_000;

export class Session extends EventEmitter<SessionEvents> implements FrameHandler {
  readonly isServer: boolean;
  readonly socket: Duplex;
  readonly runtime: Runtime;
  /** Bytes that may still be sent on all streams together. */
  sendWindow = DEFAULT_WINDOW_BYTES;
  /** The window that the peer grants every stream at its start; a stream adds what it was granted beyond that. */
  peerStreamWindow = DEFAULT_WINDOW_BYTES;
  /** Streams that the peer lets us have open at once; grpc-go's guess until it has said so. */
  peerMaxStreams = 100;
  destroyed = false;
  /** How the peer broke the protocol, if it did, or why it ended the connection. */
  failure: string | undefined;
  /** The error that ended the transport, if one did. */
  transportError: Error | undefined;
  /** The words that came with the peer's GOAWAY, as far as they can be shown. */
  goawayText = "";
  /** No new streams: either side sent GOAWAY. */
  closing = false;
  /** Round trip of the last ping that was answered. */
  roundTripMs: number | undefined;

  readonly #options: SessionOptions;
  readonly #streams = new Map<number, Stream>();
  readonly #decoder = new HeaderDecoder();
  readonly #control: ControlQueue;
  readonly #guard: FloodGuard;
  readonly #maxStreams: number;
  #settingsReceived = false;
  /** Streams refused since one was last taken. */
  #refused = 0;
  /** Streams whose next frame has no room in the session's window, the one that waits longest first. */
  readonly #waiting = new Set<Stream>();
  /** Every stream's window has grown with the read that is being taken in. */
  #windowsGrew = false;
  #nextStreamId = 1;
  #lastPeerStream = 0;
  #received = 0;
  #goawayReceived = false;
  #pings = new Map<bigint, () => void>();
  #pingCount = 0n;

  readonly #reader: FrameReader;
  /** The stream whose DATA frame is arriving. */
  #dataStream: Stream | undefined;
  /** A header block that continues in the next frame. */
  #block: { readonly streamId: number; readonly flags: number; readonly parts: Buffer[]; bytes: number } | undefined;

  constructor(socket: Duplex, options: SessionOptions) {
    super();
    this.socket = socket;
    this.runtime = options.runtime ?? systemRuntime;
    this.#guard = new FloodGuard(this.runtime);
    this.isServer = options.isServer;
    this.#options = options;
    this.#maxStreams = options.maxStreams ?? Number.POSITIVE_INFINITY;
    this.#reader = new FrameReader(this, options.isServer);
    this.#control = new ControlQueue(socket, () =>
      this.#fail(new SessionError("ENHANCE_YOUR_CALM", "the peer does not read the answers to its frames")),
    );
    socket.on("data", this.#onBytes);
    socket.on("error", (error) => {
      this.failure ??= transportFailure(error);
      this.transportError ??= error;
    });
    socket.once("end", () => this.destroy());
    socket.once("close", () => this.destroy());
    socket.write(greeting(options));
  }

  /** Whether the peer has shown that it speaks HTTP/2. */
  get greeted(): boolean {
    return this.#settingsReceived;
  }

  /** How long a DATA frame may be so that the peer's window always has room for some. */
  get frameBytes(): number {
    return Math.min(MAX_FRAME_BYTES, Math.max(1024, this.peerStreamWindow >> 2));
  }

  /** Neither new calls nor, soon, old ones. */
  get closed(): boolean {
    return this.closing || this.destroyed;
  }

  /** Starts a call (clients only). */
  request(fields: Iterable<Header>): Stream {
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new Stream(this, id, this.#options.streamWindowBytes);
    if (this.closed) {
      this.runtime.next(() => stream.lose());
      return stream;
    }
    this.#streams.set(id, stream);
    this.send(frame(FrameType.HEADERS, FrameFlag.END_HEADERS, id, encodeHeaders(fields)));
    return stream;
  }

  /** Any frame but DATA with bytes. */
  send(frame: Buffer): void {
    if (!this.destroyed) this.#control.send(frame);
  }

  /** So many DATA frames, for which the windows have room; `done` once the transport has taken them. */
  sendData(frames: Buffer, count: number, done?: (error?: Error | null) => void): void {
    if (this.destroyed) return;
    this.#guard.carriers += count;
    this.#control.flush();
    this.socket.write(frames, done);
  }

  /** The stream's next frame has no room in the session's window. */
  awaitWindow(stream: Stream): void {
    this.#waiting.add(stream);
  }

  ping(onAnswer: () => void): void {
    if (this.destroyed) return;
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64BE(++this.#pingCount);
    const sentAt = this.runtime.now();
    this.#pings.set(this.#pingCount, () => {
      this.roundTripMs = this.runtime.now() - sentAt;
      onAnswer();
    });
    this.send(frame(FrameType.PING, 0, 0, payload));
  }

  /** Sends GOAWAY and ends once the last stream has ended. */
  close(): void {
    if (this.closed) return;
    this.closing = true;
    this.#sendGoaway(Http2ErrorCode.NO_ERROR);
    if (this.#streams.size === 0) this.#leave();
  }

  ref(): void {
    (this.socket as Socket).ref?.();
  }

  /** An idle session does not keep the process alive. */
  unref(): void {
    (this.socket as Socket).unref?.();
  }

  destroy(): void {
    this.socket.destroy();
    this.#end();
  }

  /** The peer has time to read what was written, and ends the connection, too. One that broke the protocol has less. */
  #leave(): void {
    if (this.destroyed) return;
    const { socket } = this;
    this.#control.flush();
    if (this.failure === undefined) endWhenRead(socket as Duplex & Cuttable, this.runtime, LINGER_MS);
    else {
      socket.end();
      linger(socket, TELL_MS, this.runtime);
    }
    this.#end();
  }

  #end(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    for (const stream of [...this.#streams.values()]) stream.lose();
    this.#pings.clear();
    this.emit("close");
  }

  forget(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#waiting.delete(stream);
    if (this.closing && this.#streams.size === 0) this.#leave();
  }

  #sendGoaway(code: number, why = ""): void {
    this.#control.flush();
    this.socket.write(goaway(this.#lastPeerStream, code, why));
  }

  readonly #onBytes = (chunk: Buffer): void => {
    // Bytes that were read before the session ended.
    if (this.destroyed) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      this.#fail(error);
    }
    // Once for a read, however often it changed the windows.
    if (!this.#windowsGrew) return;
    this.#windowsGrew = false;
    for (const stream of [...this.#streams.values()]) stream.pump();
  };

  #fail(error: SessionError): void {
    if (this.destroyed) return;
    this.failure = error.message;
    this.#sendGoaway(error.code, error.message);
    this.#leave();
  }

  /** A frame came that carries nothing. */
  #countIdle(): void {
    if (this.#guard.allows()) return;
    throw new SessionError("ENHANCE_YOUR_CALM", "the peer sends too many frames that carry nothing");
  }

  // ---- DATA, while it arrives --------------------------------------------------------------------------------------

  beginData(streamId: number, length: number): void {
    if (this.#block !== undefined) throw new SessionError("PROTOCOL_ERROR", "a header block was interrupted");
    this.#countReceived(length);
    // Bytes for a stream that has ended here were under way; they only count for the session's window.
    const stream = this.#streams.get(streamId);
    this.#dataStream = stream;
    if (stream === undefined) {
      const isOpened = this.isServer ? streamId <= this.#lastPeerStream : streamId < this.#nextStreamId;
      if (streamId % 2 === 0 || !isOpened)
        throw new SessionError("PROTOCOL_ERROR", "DATA of a stream that was never opened");
    }
    if (length < LEAST_DATA_BYTES) this.#countIdle();
    else if (stream !== undefined) this.#guard.carriers++;
    stream?.expect(length);
  }

  passData(chunk: Buffer): void {
    const stream = this.#dataStream;
    if (stream !== undefined && !stream.closed) stream.receive(chunk);
  }

  passPadding(bytes: number): void {
    this.#dataStream?.took(bytes);
  }

  endData(endStream: boolean): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (endStream && stream !== undefined && !stream.closed) stream.receiveEnd();
  }

  /** The session's window is given back on arrival; only a stream's own is held back when its reader pauses. */
  #countReceived(bytes: number): void {
    this.#received += bytes;
    if (this.#received < this.#options.sessionWindowBytes / 4) return;
    this.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(this.#received)));
    this.#received = 0;
  }

  // ---- all other frames ------------------------------------------------------------------------------------------------------

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.destroyed) return;
    if (this.#block !== undefined && type !== FrameType.CONTINUATION) {
      throw new SessionError("PROTOCOL_ERROR", "a header block was interrupted");
    }
    this.#countIdle();
    switch (type) {
      case FrameType.HEADERS:
        this.#onHeaderBlock(streamId, bare(payload, flags), flags);
        break;
      case FrameType.CONTINUATION:
        this.#onContinuation(streamId, payload, flags);
        break;
      case FrameType.RST_STREAM:
        exactly(payload, 4);
        this.#streams.get(streamId)?.receiveReset(payload.readUInt32BE(0));
        break;
      case FrameType.SETTINGS:
        if ((flags & FrameFlag.ACK) === 0) this.#onSettings(payload);
        break;
      case FrameType.PING:
        exactly(payload, 8);
        this.#onPing(payload, flags);
        break;
      case FrameType.GOAWAY:
        if (payload.length < 8) throw new SessionError("FRAME_SIZE_ERROR", "GOAWAY is too short");
        this.#onGoaway(payload.readUInt32BE(4), payload.toString("utf8", 8, 8 + MAX_WHY_BYTES));
        break;
      case FrameType.WINDOW_UPDATE:
        exactly(payload, 4);
        this.#onWindowUpdate(streamId, payload.readUInt32BE(0) & 0x7fff_ffff);
        break;
      case FrameType.PUSH_PROMISE:
        throw new SessionError("PROTOCOL_ERROR", "pushes were not allowed");
      default:
        // PRIORITY, and whatever extensions there are.
        break;
    }
  }

  #onGoaway(code: number, why: string): void {
    this.closing = true;
    this.goawayText ||= plainText(why);
    if (code !== Http2ErrorCode.NO_ERROR && why !== "") {
      this.failure ??= `the other side ended the connection: ${plainText(why)}`;
    }
    if (!this.#goawayReceived) this.emit("goaway", code);
    this.#goawayReceived = true;
    if (this.#streams.size === 0) this.#leave();
  }

  #onHeaderBlock(streamId: number, part: Buffer, flags: number): void {
    if (streamId === 0) throw new SessionError("PROTOCOL_ERROR", "HEADERS without a stream");
    if (flags & FrameFlag.END_HEADERS) this.#onHeaders(streamId, part, flags);
    else this.#block = { streamId, flags, parts: [part], bytes: part.length };
  }

  #onContinuation(streamId: number, part: Buffer, flags: number): void {
    const block = this.#block;
    if (block === undefined || block.streamId !== streamId) {
      throw new SessionError("PROTOCOL_ERROR", "CONTINUATION without HEADERS");
    }
    block.parts.push(part);
    block.bytes += part.length;
    if (block.bytes > MAX_HEADER_BLOCK_BYTES || block.parts.length > MAX_HEADER_BLOCK_BYTES / 64) {
      throw new SessionError("ENHANCE_YOUR_CALM", "a header block is too long");
    }
    if ((flags & FrameFlag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#onHeaders(block.streamId, Buffer.concat(block.parts), block.flags);
  }

  #onHeaders(streamId: number, block: Buffer, flags: number): void {
    // Decoded even for streams that have ended: the table must stay in step.
    const fields = this.#decoder.decode(block);
    const endStream = (flags & FrameFlag.END_STREAM) !== 0;
    const known = this.#streams.get(streamId);
    if (known !== undefined) known.receiveHeaders(fields, endStream);
    else if (this.isServer && streamId > this.#lastPeerStream) {
      if (streamId % 2 === 0) throw new SessionError("PROTOCOL_ERROR", "a client's streams have odd numbers");
      this.#lastPeerStream = streamId;
      if (this.closing || this.#streams.size >= this.#maxStreams) this.#refuse(streamId);
      else {
        const stream = new Stream(this, streamId, this.#options.streamWindowBytes);
        this.#streams.set(streamId, stream);
        this.#refused = 0;
        this.#options.onStream?.(stream, fields);
        if (endStream) stream.receiveEnd();
      }
    }
  }

  #refuse(streamId: number): void {
    if (++this.#refused > MAX_REFUSALS * Math.max(1, this.#maxStreams)) {
      throw new SessionError("ENHANCE_YOUR_CALM", "the peer opens more streams than were announced");
    }
    this.send(frame(FrameType.RST_STREAM, 0, streamId, uint32s(Http2ErrorCode.REFUSED_STREAM)));
  }

  #onSettings(payload: Buffer): void {
    if (payload.length % 6 !== 0) throw new SessionError("FRAME_SIZE_ERROR", "SETTINGS has a broken length");
    if (!this.#settingsReceived) this.peerMaxStreams = Number.POSITIVE_INFINITY;
    this.#settingsReceived = true;
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const id = payload.readUInt16BE(at);
      if (id === Setting.MAX_CONCURRENT_STREAMS) this.peerMaxStreams = value;
      if (id !== Setting.INITIAL_WINDOW_SIZE) continue;
      if (value > MAX_HTTP2_WINDOW_BYTES) throw new SessionError("FLOW_CONTROL_ERROR", "a window is too large");
      if (value > this.peerStreamWindow) this.#windowsGrew = true;
      this.peerStreamWindow = value;
    }
    this.send(frame(FrameType.SETTINGS, FrameFlag.ACK, 0, EMPTY));
  }

  #onPing(payload: Buffer, flags: number): void {
    if ((flags & FrameFlag.ACK) === 0) {
      this.send(frame(FrameType.PING, FrameFlag.ACK, 0, payload));
      return;
    }
    const id = payload.readBigUInt64BE(0);
    const onAnswer = this.#pings.get(id);
    this.#pings.delete(id);
    onAnswer?.();
  }

  #onWindowUpdate(streamId: number, bytes: number): void {
    if (streamId !== 0) {
      this.#streams.get(streamId)?.growSendWindow(bytes);
      return;
    }
    this.sendWindow += bytes;
    if (this.sendWindow > MAX_HTTP2_WINDOW_BYTES)
      throw new SessionError("FLOW_CONTROL_ERROR", "the window is too large");
    // Whoever finds no room waits again, behind the others: an update is never worth more than the streams it serves.
    for (const stream of this.#waiting) {
      this.#waiting.delete(stream);
      stream.pump();
      if (this.#waiting.has(stream)) break;
    }
  }
}

const EMPTY = Buffer.alloc(0);

/** The first bytes of a connection: preface, settings and the session's window. */
function greeting({ isServer, maxStreams, streamWindowBytes, sessionWindowBytes }: SessionOptions): Buffer {
  const more = sessionWindowBytes - DEFAULT_WINDOW_BYTES;
  return Buffer.concat([
    isServer ? EMPTY : PREFACE,
    settings([
      ...(isServer ? [] : [[Setting.ENABLE_PUSH, 0] as const]),
      ...(maxStreams === undefined ? [] : [[Setting.MAX_CONCURRENT_STREAMS, maxStreams] as const]),
      [Setting.INITIAL_WINDOW_SIZE, streamWindowBytes],
      [Setting.MAX_HEADER_LIST_SIZE, MAX_LIST_BYTES],
    ]),
    more > 0 ? frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(more)) : EMPTY,
  ]);
}

function exactly(payload: Buffer, length: number): void {
  if (payload.length !== length) throw new SessionError("FRAME_SIZE_ERROR", "a frame has the wrong length");
}

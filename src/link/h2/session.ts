/**
 * One HTTP/2 connection (RFC 9113), as much of it as gRPC peers use: both roles, flow control, pings, no push and no
 * priorities. DATA is handed on while its frame still arrives; all other frames are small and gathered whole.
 */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  bare,
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  frame,
  MAX_FRAME_BYTES,
  MAX_WINDOW_BYTES,
  PREFACE,
  SessionError,
  Setting,
  settings,
  uint32s,
} from "./frames.js";
import { encodeHeaders, type Header, HeaderDecoder } from "./hpack.js";
import { Stream } from "./stream.js";

export interface SessionOptions {
  readonly isServer: boolean;
  /** What the peer may have sent on one stream before it is read. */
  readonly streamWindowBytes: number;
  /** The same for all streams together; only bounds what is under way, since it is given back on arrival. */
  readonly sessionWindowBytes: number;
  /** A call has come in (servers only). */
  readonly onStream?: (stream: Stream, fields: readonly Header[]) => void;
}

interface SessionEvents {
  /** The peer asks us to go elsewhere; streams that stand go on. */
  goaway: [code: number];
  close: [];
}

/** What a peer that speaks something else is told, and what we say of it. */
export const NOT_HTTP2 = "this is not HTTP/2";

/** Answers to pings and settings may not pile up behind a peer that does not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BLOCK_BYTES = 64 * 1024;

export class Session extends EventEmitter<SessionEvents> {
  readonly isServer: boolean;
  readonly socket: Duplex;
  /** What may still be sent on all streams together. */
  sendWindow = DEFAULT_WINDOW_BYTES;
  destroyed = false;
  /** How the peer broke the protocol, if it did. */
  failure: string | undefined;
  /** No new streams: either side said goodbye. */
  closing = false;

  readonly #options: SessionOptions;
  readonly #streams = new Map<number, Stream>();
  readonly #decoder = new HeaderDecoder();
  #peerStreamWindow = DEFAULT_WINDOW_BYTES;
  #nextStreamId = 1;
  #lastPeerStream = 0;
  #received = 0;
  #pings = new Map<bigint, () => void>();
  #pingCount = 0n;

  // The frame under way.
  #prefaceLeft: number;
  /** The peer's first frame was SETTINGS, as it has to be. */
  #greeted = false;
  readonly #head = Buffer.alloc(FRAME_HEADER_BYTES);
  #headFill = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  #payload: Buffer | undefined;
  #payloadFill = 0;
  #dataLeft = 0;
  #dataStream: Stream | undefined;
  /** A header block that continues in the next frame. */
  #block: { readonly streamId: number; readonly flags: number; readonly parts: Buffer[]; bytes: number } | undefined;

  constructor(socket: Duplex, options: SessionOptions) {
    super();
    this.socket = socket;
    this.isServer = options.isServer;
    this.#options = options;
    this.#prefaceLeft = options.isServer ? PREFACE.length : 0;
    socket.on("data", this.#onBytes);
    socket.on("error", () => {});
    socket.once("end", () => this.destroy());
    socket.once("close", () => this.destroy());
    if (!options.isServer) socket.write(PREFACE);
    socket.write(
      settings([
        ...(options.isServer ? [] : [[Setting.ENABLE_PUSH, 0] as const]),
        [Setting.INITIAL_WINDOW_SIZE, options.streamWindowBytes],
      ]),
    );
    const more = options.sessionWindowBytes - DEFAULT_WINDOW_BYTES;
    if (more > 0) this.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(more)));
  }

  /** How long a DATA frame may be so that the peer's window always has room for some. */
  get frameBytes(): number {
    return Math.min(MAX_FRAME_BYTES, Math.max(1024, this.#peerStreamWindow >> 2));
  }

  /** Neither new calls nor, soon, old ones. */
  get closed(): boolean {
    return this.closing || this.destroyed;
  }

  /** Starts a call (clients only). */
  request(fields: Iterable<Header>): Stream {
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new Stream(this, id, this.#options.streamWindowBytes, this.#peerStreamWindow);
    if (this.closed) {
      queueMicrotask(() => stream.lose());
      return stream;
    }
    this.#streams.set(id, stream);
    this.send(frame(FrameType.HEADERS, Flag.END_HEADERS, id, encodeHeaders(fields)));
    return stream;
  }

  send(bytes: Buffer, done?: (error?: Error | null) => void): void {
    if (this.destroyed) return;
    this.socket.write(bytes, done);
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.destroy();
  }

  /** False when the session is over. */
  ping(onAnswer: () => void): boolean {
    if (this.destroyed) return false;
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64BE(++this.#pingCount);
    this.#pings.set(this.#pingCount, onAnswer);
    this.send(frame(FrameType.PING, 0, 0, payload));
    return true;
  }

  /** Says goodbye and ends once the last stream is over. */
  close(): void {
    if (this.closed) return;
    this.closing = true;
    this.#sayGoodbye(ErrorCode.NO_ERROR);
    if (this.#streams.size === 0) this.destroy();
  }

  ref(): void {
    (this.socket as Socket).ref?.();
  }

  /** An idle session does not keep the process alive. */
  unref(): void {
    (this.socket as Socket).unref?.();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.socket.destroy();
    for (const stream of [...this.#streams.values()]) stream.lose();
    this.#pings.clear();
    this.emit("close");
  }

  forget(stream: Stream): void {
    this.#streams.delete(stream.id);
    if (this.closing && this.#streams.size === 0) this.destroy();
  }

  #sayGoodbye(code: number, why = ""): void {
    const payload = Buffer.concat([uint32s(this.#lastPeerStream, code), Buffer.from(why, "latin1")]);
    this.send(frame(FrameType.GOAWAY, 0, 0, payload));
  }

  // ---- bytes to frames ---------------------------------------------------------------------------------------------

  readonly #onBytes = (chunk: Buffer): void => {
    let at = 0;
    try {
      while (at < chunk.length && !this.destroyed) at = this.#step(chunk, at);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      this.failure = error.message;
      this.#sayGoodbye(error.code, error.message);
      this.socket.end();
      this.destroy();
    }
  };

  #step(chunk: Buffer, at: number): number {
    if (this.#dataLeft > 0) return this.#passData(chunk, at);
    if (this.#payload !== undefined) return this.#gather(this.#payload, chunk, at);
    if (this.#prefaceLeft > 0) return this.#readPreface(chunk, at);
    if (this.#headFill === 0 && chunk.length - at >= FRAME_HEADER_BYTES) {
      this.#begin(chunk, at);
      return at + FRAME_HEADER_BYTES;
    }
    const taken = chunk.copy(this.#head, this.#headFill, at);
    this.#headFill += taken;
    if (this.#headFill === FRAME_HEADER_BYTES) {
      this.#headFill = 0;
      this.#begin(this.#head, 0);
    }
    return at + taken;
  }

  #readPreface(chunk: Buffer, at: number): number {
    const from = PREFACE.length - this.#prefaceLeft;
    const length = Math.min(this.#prefaceLeft, chunk.length - at);
    if (chunk.compare(PREFACE, from, from + length, at, at + length) !== 0) {
      throw new SessionError(ErrorCode.PROTOCOL_ERROR, NOT_HTTP2);
    }
    this.#prefaceLeft -= length;
    return at + length;
  }

  #begin(head: Buffer, at: number): void {
    const length = (head[at]! << 16) | (head[at + 1]! << 8) | head[at + 2]!;
    this.#type = head[at + 3]!;
    this.#flags = head[at + 4]!;
    this.#streamId = head.readUInt32BE(at + 5) & 0x7fff_ffff;
    if (this.#type !== FrameType.SETTINGS && !this.#greeted)
      throw new SessionError(ErrorCode.PROTOCOL_ERROR, NOT_HTTP2);
    this.#greeted = true;
    if (length > MAX_FRAME_BYTES) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "a frame is longer than allowed");
    if (this.#block !== undefined && this.#type !== FrameType.CONTINUATION) {
      throw new SessionError(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted");
    }
    if (this.#type === FrameType.DATA) this.#beginData(length);
    else if (length === 0) this.#handle(EMPTY);
    else {
      this.#payload = Buffer.allocUnsafe(length);
      this.#payloadFill = 0;
    }
  }

  #beginData(length: number): void {
    if (this.#streamId === 0) throw new SessionError(ErrorCode.PROTOCOL_ERROR, "DATA without a stream");
    this.#countReceived(length);
    // Bytes for a stream that is over here were under way; they only count for the session's window.
    const stream = this.#streams.get(this.#streamId);
    stream?.expect(length);
    if (this.#flags & Flag.PADDED && length > 0) {
      this.#payload = Buffer.allocUnsafe(length);
      this.#payloadFill = 0;
    } else if (length === 0) this.#endData(stream);
    else {
      this.#dataStream = stream;
      this.#dataLeft = length;
    }
  }

  #passData(chunk: Buffer, at: number): number {
    const to = Math.min(chunk.length, at + this.#dataLeft);
    this.#dataLeft -= to - at;
    const stream = this.#dataStream;
    if (stream !== undefined && !stream.closed) stream.receive(chunk.subarray(at, to));
    if (this.#dataLeft === 0) {
      this.#dataStream = undefined;
      this.#endData(stream);
    }
    return to;
  }

  #endData(stream: Stream | undefined): void {
    if (this.#flags & Flag.END_STREAM && stream !== undefined && !stream.closed) stream.receiveEnd();
  }

  /** The session's window is given back on arrival; only a stream's own is held back when its reader pauses. */
  #countReceived(bytes: number): void {
    this.#received += bytes;
    if (this.#received < this.#options.sessionWindowBytes / 4) return;
    this.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(this.#received)));
    this.#received = 0;
  }

  #gather(payload: Buffer, chunk: Buffer, at: number): number {
    const taken = chunk.copy(payload, this.#payloadFill, at);
    this.#payloadFill += taken;
    if (this.#payloadFill === payload.length) {
      this.#payload = undefined;
      this.#handle(payload);
    }
    return at + taken;
  }

  // ---- frames ------------------------------------------------------------------------------------------------------

  #handle(payload: Buffer): void {
    switch (this.#type) {
      case FrameType.DATA: {
        const stream = this.#streams.get(this.#streamId);
        const bytes = bare(payload, this.#flags & Flag.PADDED);
        if (stream !== undefined && bytes.length > 0) stream.receive(bytes);
        this.#endData(stream);
        break;
      }
      case FrameType.HEADERS:
        this.#onHeaderBlock(bare(payload, this.#flags), this.#flags);
        break;
      case FrameType.CONTINUATION:
        this.#onContinuation(payload);
        break;
      case FrameType.RST_STREAM:
        exactly(payload, 4);
        this.#streams.get(this.#streamId)?.receiveReset(payload.readUInt32BE(0));
        break;
      case FrameType.SETTINGS:
        if ((this.#flags & Flag.ACK) === 0) this.#onSettings(payload);
        break;
      case FrameType.PING:
        exactly(payload, 8);
        this.#onPing(payload);
        break;
      case FrameType.GOAWAY:
        if (payload.length < 8) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY is too short");
        this.closing = true;
        this.emit("goaway", payload.readUInt32BE(4));
        if (this.#streams.size === 0) this.destroy();
        break;
      case FrameType.WINDOW_UPDATE:
        exactly(payload, 4);
        this.#onWindowUpdate(payload.readUInt32BE(0) & 0x7fff_ffff);
        break;
      case FrameType.PUSH_PROMISE:
        throw new SessionError(ErrorCode.PROTOCOL_ERROR, "nobody asked for a push");
      default:
        // PRIORITY, and whatever extensions there are.
        break;
    }
  }

  #onHeaderBlock(part: Buffer, flags: number): void {
    if (this.#streamId === 0) throw new SessionError(ErrorCode.PROTOCOL_ERROR, "HEADERS without a stream");
    if (flags & Flag.END_HEADERS) this.#onHeaders(this.#streamId, part, flags);
    else this.#block = { streamId: this.#streamId, flags, parts: [part], bytes: part.length };
  }

  #onContinuation(part: Buffer): void {
    const block = this.#block;
    if (block === undefined || block.streamId !== this.#streamId) {
      throw new SessionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION without HEADERS");
    }
    block.parts.push(part);
    block.bytes += part.length;
    if (block.bytes > MAX_HEADER_BLOCK_BYTES || block.parts.length > MAX_HEADER_BLOCK_BYTES / 64) {
      throw new SessionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block is too long");
    }
    if ((this.#flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#onHeaders(block.streamId, Buffer.concat(block.parts), block.flags);
  }

  #onHeaders(streamId: number, block: Buffer, flags: number): void {
    // Decoded even for streams that are over: the table must stay in step.
    const fields = this.#decoder.decode(block);
    const endStream = (flags & Flag.END_STREAM) !== 0;
    const known = this.#streams.get(streamId);
    if (known !== undefined) known.receiveHeaders(fields, endStream);
    else if (this.isServer && streamId > this.#lastPeerStream) {
      if (streamId % 2 === 0) throw new SessionError(ErrorCode.PROTOCOL_ERROR, "a client's streams have odd numbers");
      this.#lastPeerStream = streamId;
      const stream = new Stream(this, streamId, this.#options.streamWindowBytes, this.#peerStreamWindow);
      this.#streams.set(streamId, stream);
      if (this.closing) stream.close(ErrorCode.REFUSED_STREAM);
      else {
        this.#options.onStream?.(stream, fields);
        if (endStream) stream.receiveEnd();
      }
    }
  }

  #onSettings(payload: Buffer): void {
    if (payload.length % 6 !== 0) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS has a broken length");
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== Setting.INITIAL_WINDOW_SIZE) continue;
      const window = payload.readUInt32BE(at + 2);
      if (window > MAX_WINDOW_BYTES) throw new SessionError(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large");
      const change = window - this.#peerStreamWindow;
      this.#peerStreamWindow = window;
      for (const stream of [...this.#streams.values()]) stream.growSendWindow(change);
    }
    this.send(frame(FrameType.SETTINGS, Flag.ACK, 0, EMPTY));
  }

  #onPing(payload: Buffer): void {
    if ((this.#flags & Flag.ACK) === 0) {
      this.send(frame(FrameType.PING, Flag.ACK, 0, payload));
      return;
    }
    const id = payload.readBigUInt64BE(0);
    const onAnswer = this.#pings.get(id);
    this.#pings.delete(id);
    onAnswer?.();
  }

  #onWindowUpdate(bytes: number): void {
    if (this.#streamId !== 0) {
      this.#streams.get(this.#streamId)?.growSendWindow(bytes);
      return;
    }
    this.sendWindow += bytes;
    if (this.sendWindow > MAX_WINDOW_BYTES)
      throw new SessionError(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large");
    for (const stream of [...this.#streams.values()]) stream.pump();
  }
}

const EMPTY = Buffer.alloc(0);

function exactly(payload: Buffer, length: number): void {
  if (payload.length !== length) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "a frame has the wrong length");
}

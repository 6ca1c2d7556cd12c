/** One HTTP/2 stream as gRPC uses it: headers, bytes both ways under flow control, an end. */
import { EventEmitter } from "node:events";
import { ByteQueue } from "../../../base/byte-queue.js";
import {
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameType,
  frame,
  Http2ErrorCode,
  MAX_HTTP2_WINDOW_BYTES,
  SessionError,
  uint32s,
} from "./frames.js";
import { encodeHeaders, type Header } from "./hpack.js";
import type { Session } from "./session.js";

/** Header fields by name; a name that came several times has a list. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

interface StreamEvents {
  /** The peer's first header block (clients only; a server's stream begins with it). */
  headers: [Headers];
  /** The block that ends the peer's side. */
  trailers: [Headers];
  /** The peer ended its side, and everything it sent was handed on. */
  end: [];
  /** The stream has ended, in whatever way; `resetCode` tells. */
  close: [];
}

/** Of bytes that came while a stream was paused: so many are handed on at once. */
const PORTION_BYTES = 64 * 1024;

/** How long the bytes that came before a stream's end may wait for whoever has paused it. */
const READ_WITHIN_MS = 10_000;

export class Stream extends EventEmitter<StreamEvents> {
  readonly id: number;
  readonly session: Session;
  /** Where the peer's bytes go: views that stay valid. */
  onData: (chunk: Buffer) => void = () => {};
  /** HTTP/2 code of the reset, from either side; undefined after an end in good order. */
  resetCode: number | undefined;
  closed = false;
  headersSent = false;

  readonly #window: number;
  /** Bytes that the peer granted beyond its first window, less those sent. */
  #sendCredit = 0;
  /** Bytes that the peer may still send, and bytes taken since it last got credit. */
  #receiveWindow: number;
  #taken = 0;
  #paused = false;
  /** Bytes that came while paused; the window bounds them. */
  readonly #held = new ByteQueue();
  #isHandingOn = false;
  #remoteEnded = false;
  #endReported = false;
  #localEnded = false;
  #cancelLate: (() => void) | undefined;
  #headersReceived: boolean;
  #pending: Buffer | undefined;
  #pendingAt = 0;
  #pendingDone: ((error?: Error | null) => void) | undefined;

  constructor(session: Session, id: number, windowBytes: number) {
    super();
    this.session = session;
    this.id = id;
    this.#window = windowBytes;
    this.#receiveWindow = windowBytes;
    this.#headersReceived = session.isServer;
  }

  get isServer(): boolean {
    return this.session.isServer;
  }

  // ---- from the peer -----------------------------------------------------------------------------------------------

  /** A DATA frame of this length begins. */
  expect(length: number): void {
    if (this.#remoteEnded) throw new SessionError("STREAM_CLOSED", "bytes after the end of a stream");
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) throw new SessionError("FLOW_CONTROL_ERROR", "more bytes than the window allows");
  }

  receive(chunk: Buffer): void {
    if (this.#paused || this.#held.length > 0) this.#held.push(chunk);
    else {
      this.onData(chunk);
      this.took(chunk.length);
    }
  }

  receiveHeaders(fields: readonly Header[], endStream: boolean): void {
    const first = !this.#headersReceived;
    this.#headersReceived = true;
    if (!first && !endStream) {
      this.close(Http2ErrorCode.PROTOCOL_ERROR);
      return;
    }
    this.emit(first ? "headers" : "trailers", toHeaders(fields));
    if (endStream) this.receiveEnd();
  }

  receiveEnd(): void {
    this.#remoteEnded = true;
    this.#reportEnd();
  }

  /** What came before the peer's end is handed on all the same. */
  receiveReset(code: number): void {
    if (code !== Http2ErrorCode.NO_ERROR || !this.#endsLater()) this.#close(code);
  }

  /** Whether the peer has ended its side in good order and somebody has yet to read what came before: it has a while. */
  #endsLater(): boolean {
    if (!this.#remoteEnded || this.#endReported || this.closed) return false;
    this.#localEnded = true;
    this.#pending = undefined;
    this.#cancelLate ??= this.session.runtime.after(READ_WITHIN_MS, () => this.#close(Http2ErrorCode.CANCEL));
    return true;
  }

  /** Credit for the peer's bytes goes back by quarters of the window. */
  took(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < this.#window / 4 || this.closed || this.#remoteEnded) return;
    this.#receiveWindow += this.#taken;
    this.session.send(frame(FrameType.WINDOW_UPDATE, 0, this.id, uint32s(this.#taken)));
    this.#taken = 0;
  }

  #reportEnd(): void {
    if (!this.#remoteEnded || this.#endReported || this.#paused || this.#held.length > 0 || this.closed) return;
    this.#endReported = true;
    this.emit("end");
    this.#closeIfEnded();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#handOn();
  }

  /** In portions, each in a turn of its own: whoever takes them sees only at the end of a turn that it has too much. */
  #handOn(): void {
    for (let bytes = 0; !this.#paused && !this.closed && this.#held.length > 0; ) {
      if (bytes >= PORTION_BYTES) {
        this.#handOnLater();
        return;
      }
      const chunk = this.#held.shift()!;
      bytes += chunk.length;
      this.onData(chunk);
      this.took(chunk.length);
    }
    this.#reportEnd();
  }

  #handOnLater(): void {
    if (this.#isHandingOn) return;
    this.#isHandingOn = true;
    this.session.runtime.soon(() => {
      this.#isHandingOn = false;
      this.#handOn();
    });
  }

  // ---- to the peer -------------------------------------------------------------------------------------------------

  respond(headers: Readonly<Record<string, string>>): void {
    this.headersSent = true;
    this.#sendHeaders([[":status", "200"], ...Object.entries(headers)], false);
  }

  /** Ends our side: a server with trailers, a client with an empty frame. */
  end(trailers: Readonly<Record<string, string>> = {}): void {
    if (this.closed || this.#localEnded) return;
    this.#localEnded = true;
    const fields = Object.entries(trailers);
    if (fields.length > 0) {
      this.#sendHeaders(this.headersSent ? fields : [[":status", "200"], ...fields], true);
    } else this.session.send(frame(FrameType.DATA, FrameFlag.END_STREAM, this.id, Buffer.alloc(0)));
    // A server that has sent its trailers does not wait for the end of the caller's side: so gRPC ends a call early.
    if (this.isServer && !this.#remoteEnded) this.close(Http2ErrorCode.NO_ERROR);
    else this.#closeIfEnded();
  }

  #sendHeaders(fields: readonly Header[], endStream: boolean): void {
    const flags = FrameFlag.END_HEADERS | (endStream ? FrameFlag.END_STREAM : 0);
    this.session.send(frame(FrameType.HEADERS, flags, this.id, encodeHeaders(fields)));
  }

  /**
   * Sends bytes that are DATA frames already, whole frames as the windows allow; `done` once the transport has taken
   * the last of them. One write at a time.
   */
  write(frames: Buffer, done: (error?: Error | null) => void): void {
    this.#pending = frames;
    this.#pendingAt = 0;
    this.#pendingDone = done;
    this.pump();
  }

  /** The window grew: go on with what waits. */
  pump(): void {
    const bytes = this.#pending;
    if (bytes === undefined || this.closed) return;
    const from = this.#pendingAt;
    const { session } = this;
    let to = from;
    let frames = 0;
    while (to < bytes.length) {
      const length = (bytes[to]! << 16) | (bytes[to + 1]! << 8) | bytes[to + 2]!;
      if (length > session.peerStreamWindow + this.#sendCredit) break;
      if (length > session.sendWindow) {
        session.awaitWindow(this);
        break;
      }
      this.#sendCredit -= length;
      session.sendWindow -= length;
      to += FRAME_HEADER_BYTES + length;
      frames++;
    }
    if (to === from) return;
    this.#pendingAt = to;
    if (to < bytes.length) session.sendData(bytes.subarray(from, to), frames);
    else {
      this.#pending = undefined;
      session.sendData(from === 0 ? bytes : bytes.subarray(from), frames, this.#pendingDone);
    }
  }

  growSendWindow(bytes: number): void {
    this.#sendCredit += bytes;
    if (this.session.peerStreamWindow + this.#sendCredit > MAX_HTTP2_WINDOW_BYTES)
      this.close(Http2ErrorCode.FLOW_CONTROL_ERROR);
    else this.pump();
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  /** Resets the stream, unless it has ended. */
  close(code: number): void {
    if (this.closed) return;
    this.session.send(frame(FrameType.RST_STREAM, 0, this.id, uint32s(code)));
    this.#close(code === Http2ErrorCode.NO_ERROR ? undefined : code);
  }

  /** The session is gone. */
  lose(): void {
    if (!this.#endsLater()) this.#close(Http2ErrorCode.CANCEL);
  }

  #closeIfEnded(): void {
    if (this.#localEnded && this.#endReported) this.#close(undefined);
  }

  #close(code: number | undefined): void {
    if (this.closed) return;
    this.closed = true;
    this.#cancelLate?.();
    this.resetCode = code;
    this.#pending = undefined;
    this.#held.clear();
    this.session.forget(this);
    this.emit("close");
  }
}

export function toHeaders(fields: readonly Header[]): Headers {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of fields) {
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (typeof before === "string") headers[name] = [before, value];
    else before.push(value);
  }
  return headers;
}

/**
 * A byte stream to HTTP/2 frames, for any split of the bytes. DATA is handed on while its frame still arrives; all other
 * frames are small and gathered whole.
 */
import {
  bare,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  MAX_FRAME_BYTES,
  PREFACE,
  SessionError,
} from "./frames.js";

export interface FrameHandler {
  /** A DATA frame of this length, padding included, begins. */
  beginData(streamId: number, length: number): void;
  /** A part of its bytes, in order: a view that stays valid, never empty. */
  passData(chunk: Buffer): void;
  /** So many bytes of it were padding. */
  passPadding(bytes: number): void;
  endData(endStream: boolean): void;
  /** Any other frame. */
  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

/** What we say of a peer that speaks something else. */
export const NOT_HTTP2 = "this is not HTTP/2";

const EMPTY = Buffer.alloc(0);

export class FrameReader {
  readonly #handler: FrameHandler;
  /** Bytes of a client's preface that have not come yet. */
  #prefaceLeft: number;
  /** The peer's first frame was SETTINGS, as it has to be. */
  #greeted = false;
  readonly #head = Buffer.alloc(FRAME_HEADER_BYTES);
  #headFill = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** A frame that is gathered whole. */
  #payload: Buffer | undefined;
  #payloadFill = 0;
  /** Bytes of a DATA frame that have not come yet. */
  #dataLeft = 0;

  constructor(handler: FrameHandler, expectPreface: boolean) {
    this.#handler = handler;
    this.#prefaceLeft = expectPreface ? PREFACE.length : 0;
  }

  /** Throws a SessionError when the peer broke HTTP/2; the reader is then of no further use. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#dataLeft > 0) at = this.#passData(chunk, at);
      else if (this.#payload !== undefined) at = this.#gather(this.#payload, chunk, at);
      else if (this.#prefaceLeft > 0) at = this.#readPreface(chunk, at);
      else at = this.#readHead(chunk, at);
    }
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

  #readHead(chunk: Buffer, at: number): number {
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

  #begin(head: Buffer, at: number): void {
    const length = (head[at]! << 16) | (head[at + 1]! << 8) | head[at + 2]!;
    this.#type = head[at + 3]!;
    this.#flags = head[at + 4]!;
    this.#streamId = head.readUInt32BE(at + 5) & 0x7fff_ffff;
    if (this.#type !== FrameType.SETTINGS && !this.#greeted)
      throw new SessionError(ErrorCode.PROTOCOL_ERROR, NOT_HTTP2);
    this.#greeted = true;
    if (length > MAX_FRAME_BYTES) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "a frame is longer than allowed");
    if (this.#type === FrameType.DATA) this.#beginData(length);
    else if (length === 0) this.#handler.onFrame(this.#type, this.#flags, this.#streamId, EMPTY);
    else this.#expect(length);
  }

  #expect(length: number): void {
    this.#payload = Buffer.allocUnsafe(length);
    this.#payloadFill = 0;
  }

  #beginData(length: number): void {
    if (this.#streamId === 0) throw new SessionError(ErrorCode.PROTOCOL_ERROR, "DATA without a stream");
    this.#handler.beginData(this.#streamId, length);
    if (length === 0) this.#endData();
    else if (this.#flags & Flag.PADDED) this.#expect(length);
    else this.#dataLeft = length;
  }

  #passData(chunk: Buffer, at: number): number {
    const to = Math.min(chunk.length, at + this.#dataLeft);
    this.#dataLeft -= to - at;
    this.#handler.passData(chunk.subarray(at, to));
    if (this.#dataLeft === 0) this.#endData();
    return to;
  }

  #endData(): void {
    this.#handler.endData((this.#flags & Flag.END_STREAM) !== 0);
  }

  #gather(payload: Buffer, chunk: Buffer, at: number): number {
    const taken = chunk.copy(payload, this.#payloadFill, at);
    this.#payloadFill += taken;
    if (this.#payloadFill < payload.length) return at + taken;
    this.#payload = undefined;
    if (this.#type === FrameType.DATA) {
      const bytes = bare(payload, this.#flags & Flag.PADDED);
      if (bytes.length > 0) this.#handler.passData(bytes);
      this.#handler.passPadding(payload.length - bytes.length);
      this.#endData();
    } else this.#handler.onFrame(this.#type, this.#flags, this.#streamId, payload);
    return at + taken;
  }
}

/** HTTP/2's frames as RFC 9113 writes them. All numbers here are the specification's. */

export const FRAME_HEADER_BYTES = 9;
/** Longest frame that every peer accepts; we never ask for more. */
export const MAX_FRAME_BYTES = 16_384;
export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_HTTP2_WINDOW_BYTES = 2 ** 31 - 1;
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const FrameFlag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

export const Http2ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
} as const;

/** The peer broke HTTP/2: the whole session ends with this code. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly code: number;

  constructor(code: keyof typeof Http2ErrorCode, message: string) {
    super(message);
    this.code = Http2ErrorCode[code];
  }
}

export function writeFrameHeader(
  into: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  into[at] = length >>> 16;
  into[at + 1] = length >>> 8;
  into[at + 2] = length;
  into[at + 3] = type;
  into[at + 4] = flags;
  into[at + 5] = streamId >>> 24;
  into[at + 6] = streamId >>> 16;
  into[at + 7] = streamId >>> 8;
  into[at + 8] = streamId;
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  writeFrameHeader(bytes, 0, payload.length, type, flags, streamId);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

/** A payload of 32-bit numbers, as RST_STREAM, WINDOW_UPDATE and GOAWAY have them. */
export function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.allocUnsafe(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

export function settings(entries: readonly (readonly [id: number, value: number])[]): Buffer {
  const bytes = Buffer.allocUnsafe(6 * entries.length);
  for (const [index, [id, value]] of entries.entries()) {
    bytes.writeUInt16BE(id, 6 * index);
    bytes.writeUInt32BE(value, 6 * index + 2);
  }
  return frame(FrameType.SETTINGS, 0, 0, bytes);
}

export function goaway(lastStream: number, code: number, why: string): Buffer {
  return frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32s(lastStream, code), Buffer.from(why, "utf8")]));
}

/** All that a server says to a client which it does not serve. */
export function refusalFrames(why: string): Buffer {
  return Buffer.concat([settings([]), goaway(0, Http2ErrorCode.INADEQUATE_SECURITY, why)]);
}

/** The payload without padding and priority; throws when their lengths do not add up. */
export function bare(payload: Buffer, flags: number): Buffer {
  let from = 0;
  let to = payload.length;
  if (flags & FrameFlag.PADDED) {
    if (to < 1) throw new SessionError("FRAME_SIZE_ERROR", "padded frame without its padding length");
    to -= payload[0]!;
    from = 1;
  }
  if (flags & FrameFlag.PRIORITY) from += 5;
  if (from > to) throw new SessionError("PROTOCOL_ERROR", "padding is longer than its frame");
  return payload.subarray(from, to);
}

/** What a FrameReader reports. */
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

/** The failure of a peer that speaks something else. */
export const NOT_HTTP2 = "this is not HTTP/2";
/** The same of one that speaks TLS to a listener in the clear. */
export const TLS_INSTEAD = "this is TLS, not HTTP/2 in the clear";
/** The same of one that asks by HTTP CONNECT. */
export const CONNECT_INSTEAD = "this is HTTP CONNECT, not HTTP/2";
const TLS_HANDSHAKE = Buffer.of(0x16);
const CONNECT = Buffer.from("CONNECT ");

const EMPTY = Buffer.alloc(0);

/**
 * A byte stream to HTTP/2 frames, for any split of the bytes. DATA is passed on while its frame still arrives; all other
 * frames are small and gathered whole.
 */
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
      const is = (start: Buffer) => from === 0 && chunk.subarray(at, at + start.length).equals(start);
      throw new SessionError(
        "PROTOCOL_ERROR",
        is(TLS_HANDSHAKE) ? TLS_INSTEAD : is(CONNECT) ? CONNECT_INSTEAD : NOT_HTTP2,
      );
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
    if (this.#type !== FrameType.SETTINGS && !this.#greeted) throw new SessionError("PROTOCOL_ERROR", NOT_HTTP2);
    this.#greeted = true;
    if (length > MAX_FRAME_BYTES) throw new SessionError("FRAME_SIZE_ERROR", "a frame is longer than allowed");
    if (this.#type === FrameType.DATA) this.#beginData(length);
    else if (length === 0) this.#handler.onFrame(this.#type, this.#flags, this.#streamId, EMPTY);
    else this.#expect(length);
  }

  #expect(length: number): void {
    this.#payload = Buffer.allocUnsafe(length);
    this.#payloadFill = 0;
  }

  #beginData(length: number): void {
    if (this.#streamId === 0) throw new SessionError("PROTOCOL_ERROR", "DATA without a stream");
    this.#handler.beginData(this.#streamId, length);
    if (length === 0) this.#endData();
    else if (this.#flags & FrameFlag.PADDED) this.#expect(length);
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
    this.#handler.endData((this.#flags & FrameFlag.END_STREAM) !== 0);
  }

  #gather(payload: Buffer, chunk: Buffer, at: number): number {
    const taken = chunk.copy(payload, this.#payloadFill, at);
    this.#payloadFill += taken;
    if (this.#payloadFill < payload.length) return at + taken;
    this.#payload = undefined;
    if (this.#type === FrameType.DATA) {
      const bytes = bare(payload, this.#flags & FrameFlag.PADDED);
      if (bytes.length > 0) this.#handler.passData(bytes);
      this.#handler.passPadding(payload.length - bytes.length);
      this.#endData();
    } else this.#handler.onFrame(this.#type, this.#flags, this.#streamId, payload);
    return at + taken;
  }
}

/** HTTP/2's frames as RFC 9113 writes them. All numbers here are the specification's. */

export const FRAME_HEADER_BYTES = 9;
/** What every peer takes; nobody here asks for more. */
export const MAX_FRAME_BYTES = 16_384;
export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_WINDOW_BYTES = 2 ** 31 - 1;
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

export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

export const ErrorCode = {
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
} as const;

/** The peer broke HTTP/2: the whole session ends with this code. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
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

/** The payload without padding and priority; throws when their lengths do not add up. */
export function bare(payload: Buffer, flags: number): Buffer {
  let from = 0;
  let to = payload.length;
  if (flags & Flag.PADDED) {
    if (to < 1) throw new SessionError(ErrorCode.FRAME_SIZE_ERROR, "padded frame without its padding length");
    to -= payload[0]!;
    from = 1;
  }
  if (flags & Flag.PRIORITY) from += 5;
  if (from > to) throw new SessionError(ErrorCode.PROTOCOL_ERROR, "padding is longer than its frame");
  return payload.subarray(from, to);
}

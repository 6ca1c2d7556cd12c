/** HTTP/2 frames byte by byte (RFC 9113), independent of the codec in src/: an attack may write what no codec would. */

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

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

export const Flag = { ACK: 0x01, END_STREAM: 0x01, END_HEADERS: 0x04, PADDED: 0x08, PRIORITY: 0x20 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

const EMPTY = Buffer.alloc(0);

export function frame(type: number, flags: number, stream: number, body: Buffer = EMPTY): Buffer {
  const bytes = Buffer.allocUnsafe(9 + body.length);
  bytes.writeUIntBE(body.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  body.copy(bytes, 9);
  return bytes;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function settings(...entries: readonly (readonly [setting: number, value: number])[]): Buffer {
  const body = Buffer.alloc(6 * entries.length);
  entries.forEach(([setting, value], index) => {
    body.writeUInt16BE(setting, 6 * index);
    body.writeUInt32BE(value >>> 0, 6 * index + 2);
  });
  return frame(FrameType.SETTINGS, 0, 0, body);
}

export const ping = (body: Buffer = Buffer.alloc(8)): Buffer => frame(FrameType.PING, 0, 0, body);

export const windowUpdate = (stream: number, bytes: number): Buffer =>
  frame(FrameType.WINDOW_UPDATE, 0, stream, uint32(bytes));

export const reset = (stream: number, code = 8): Buffer => frame(FrameType.RST_STREAM, 0, stream, uint32(code));

export const data = (stream: number, body: Buffer, flags = 0): Buffer => frame(FrameType.DATA, flags, stream, body);

/** The same bytes again and again, as one buffer. */
export function repeated(bytes: Buffer, times: number): Buffer {
  return Buffer.concat(Array<Buffer>(times).fill(bytes));
}

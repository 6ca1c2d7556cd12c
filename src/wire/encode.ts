/** Packets to bytes, each with its five-byte gRPC prefix (no compression, big-endian length). */
import { type ConnectId, type ControlPacket, type Packet, PacketType } from "./packet.js";
import { int64Length, varintLength, writeInt64, writeVarint } from "./varint.js";

export const GRPC_PREFIX_BYTES = 5;

/** The most a DATA packet adds in front of its payload: prefix, type, three length-prefixed tags, one int64. */
export const MAX_DATA_HEADER_BYTES = 5 + 2 + 1 + 5 + 1 + 10 + 1 + 5;

/** Field tags of Packet's payload members (number << 3 | wire type 2). */
const TAG_DIAL_REQUEST = 0x12;
const TAG_DIAL_RESPONSE = 0x1a;
export const TAG_DATA = 0x22;
const TAG_CLOSE_REQUEST = 0x2a;
const TAG_CLOSE_RESPONSE = 0x32;
const TAG_CLOSE_DIAL = 0x3a;
const TAG_DRAIN = 0x42;
/** Ours carry the same number as their packet type, so that upstream's next fields never collide with them. */
const TAG_CREDIT = (PacketType.CREDIT << 3) | 2;
const TAG_END_OF_STREAM = (PacketType.END_OF_STREAM << 3) | 2;

const VARINT_1 = 0x08;
const VARINT_2 = 0x10;
const VARINT_3 = 0x18;
const BYTES_1 = 0x0a;
const BYTES_2 = 0x12;
const BYTES_3 = 0x1a;

function writePrefix(into: Uint8Array, at: number, length: number): number {
  into[at] = 0;
  into[at + 1] = length >>> 24;
  into[at + 2] = length >>> 16;
  into[at + 3] = length >>> 8;
  into[at + 4] = length;
  return at + GRPC_PREFIX_BYTES;
}

/**
 * Writes all of a DATA packet but its payload, which the caller puts right behind.
 * Returns the offset where the payload belongs; at most MAX_DATA_HEADER_BYTES after `at`.
 */
export function writeDataHeader(into: Uint8Array, at: number, connectId: ConnectId, payload: number): number {
  const inner = 1 + int64Length(connectId) + 1 + varintLength(payload) + payload;
  let to = writePrefix(into, at, 2 + 1 + varintLength(inner) + inner);
  into[to++] = VARINT_1;
  into[to++] = PacketType.DATA;
  into[to++] = TAG_DATA;
  to = writeVarint(into, to, inner);
  into[to++] = VARINT_1;
  to = writeInt64(into, to, connectId);
  into[to++] = BYTES_3;
  return writeVarint(into, to, payload);
}

/** A control packet with its gRPC prefix, in a buffer of its own. */
export function encodeControl(packet: ControlPacket): Buffer {
  switch (packet.type) {
    case "DIAL_REQ":
      return framed(PacketType.DIAL_REQ, TAG_DIAL_REQUEST, [
        text(BYTES_1, packet.protocol),
        text(BYTES_2, packet.address),
        int64(VARINT_3, packet.random),
      ]);
    case "DIAL_RSP":
      return framed(PacketType.DIAL_RSP, TAG_DIAL_RESPONSE, [
        text(BYTES_1, packet.error),
        int64(VARINT_2, packet.connectId),
        int64(VARINT_3, packet.random),
      ]);
    case "CLOSE_REQ":
      return framed(PacketType.CLOSE_REQ, TAG_CLOSE_REQUEST, [int64(VARINT_1, packet.connectId)]);
    case "CLOSE_RSP":
      return framed(PacketType.CLOSE_RSP, TAG_CLOSE_RESPONSE, [
        text(BYTES_1, packet.error),
        int64(VARINT_2, packet.connectId),
      ]);
    case "DIAL_CLS":
      return framed(PacketType.DIAL_CLS, TAG_CLOSE_DIAL, [int64(VARINT_1, packet.random)]);
    case "DRAIN":
      return framed(PacketType.DRAIN, TAG_DRAIN, []);
    case "CREDIT":
      return framed(PacketType.CREDIT, TAG_CREDIT, [int64(VARINT_1, packet.connectId), int64(VARINT_2, packet.bytes)]);
    case "END_OF_STREAM":
      return framed(PacketType.END_OF_STREAM, TAG_END_OF_STREAM, [int64(VARINT_1, packet.connectId)]);
  }
}

/** Any packet with its gRPC prefix; the data path uses writeDataHeader instead. */
export function encodePacket(packet: Packet): Buffer {
  if (packet.type !== "DATA") return encodeControl(packet);
  const header = Buffer.alloc(MAX_DATA_HEADER_BYTES);
  const end = writeDataHeader(header, 0, packet.connectId, packet.data.length);
  return Buffer.concat([header.subarray(0, end), packet.data]);
}

const NOTHING = Buffer.alloc(0);

/** proto3 leaves out what has its zero value. */
function text(tag: number, value: string): Buffer {
  if (value === "") return NOTHING;
  const bytes = Buffer.from(value, "utf8");
  const head = Buffer.alloc(1 + varintLength(bytes.length));
  head[0] = tag;
  writeVarint(head, 1, bytes.length);
  return Buffer.concat([head, bytes]);
}

function int64(tag: number, value: ConnectId): Buffer {
  if (value === 0 || value === 0n) return NOTHING;
  const bytes = Buffer.alloc(1 + int64Length(value));
  bytes[0] = tag;
  writeInt64(bytes, 1, value);
  return bytes;
}

function framed(type: number, payloadTag: number, fields: Buffer[]): Buffer {
  const inner = fields.reduce((sum, field) => sum + field.length, 0);
  const typeLength = type === 0 ? 0 : 1 + varintLength(type);
  const length = typeLength + varintLength(payloadTag) + varintLength(inner) + inner;
  const message = Buffer.alloc(GRPC_PREFIX_BYTES + length);
  let at = writePrefix(message, 0, length);
  if (type !== 0) {
    message[at++] = VARINT_1;
    at = writeVarint(message, at, type);
  }
  at = writeVarint(message, at, payloadTag);
  at = writeVarint(message, at, inner);
  for (const field of fields) at += field.copy(message, at);
  return message;
}

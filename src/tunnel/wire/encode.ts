/** Packets to bytes, each with its five-byte gRPC prefix (no compression, big-endian length). */
import {
  CLOSE_REQ_ERROR,
  type ConnectId,
  type ControlPacket,
  type Packet,
  PacketType,
  payloadField,
} from "./packet.js";
import { int64Length, MAX_VARINT_BYTES, varintLength, writeInt64, writeVarint } from "./varint.js";

export const GRPC_PREFIX_BYTES = 5;

/** The most a DATA packet adds in front of its payload: prefix, type, three length-prefixed tags, one int64. */
export const MAX_DATA_HEADER_BYTES = 5 + 2 + 1 + 5 + 1 + 10 + 1 + 5;

/** The tag of DATA's payload in Packet (field number << 3 | wire type 2), which the reader looks for. */
export const TAG_DATA = 0x22;

const VARINT_1 = 0x08;
const VARINT_2 = 0x10;
const VARINT_3 = 0x18;
const BYTES_1 = 0x0a;
const BYTES_2 = 0x12;
const BYTES_3 = 0x1a;
/** A field's tag that is longer than one byte. */
const CLOSE_REQ_ERROR_TAG = (CLOSE_REQ_ERROR << 3) | 2;

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

/** An upper bound of what writeControl writes. */
export function controlBound(packet: ControlPacket): number {
  const fixed = GRPC_PREFIX_BYTES + 3 + 2 + 5 + 3 * (1 + MAX_VARINT_BYTES) + 2 * 5;
  if (packet.type === "DIAL_REQ") return fixed + 3 * (packet.protocol.length + packet.address.length);
  if (packet.type === "DIAL_RSP" || packet.type === "CLOSE_RSP" || packet.type === "CLOSE_REQ")
    return fixed + 3 * (packet.error?.length ?? 0);
  return fixed;
}

/** Writes a control packet with its gRPC prefix; returns the offset behind it. */
export function writeControl(into: Buffer, at: number, packet: ControlPacket): number {
  switch (packet.type) {
    case "DIAL_REQ":
      return write(into, at, PacketType.DIAL_REQ, packet.protocol, packet.address, 0, 0, packet.random);
    case "DIAL_RSP":
      return write(into, at, PacketType.DIAL_RSP, packet.error, "", 0, packet.connectId, packet.random);
    case "CLOSE_REQ":
      return write(into, at, PacketType.CLOSE_REQ, "", "", packet.connectId, 0, 0, packet.error);
    case "CLOSE_RSP":
      return write(into, at, PacketType.CLOSE_RSP, packet.error, "", 0, packet.connectId, 0);
    case "DIAL_CLS":
      return write(into, at, PacketType.DIAL_CLS, "", "", packet.random, 0, 0);
    case "DRAIN":
      return write(into, at, PacketType.DRAIN, "", "", 0, 0, 0);
    case "CREDIT":
      return write(into, at, PacketType.CREDIT, "", "", packet.connectId, packet.bytes, 0);
    case "END_OF_STREAM":
      return write(into, at, PacketType.END_OF_STREAM, "", "", packet.connectId, 0, 0);
  }
}

/** Any packet with its gRPC prefix, in a buffer of its own; the data path writes in place instead. */
export function encodePacket(packet: Packet): Buffer {
  if (packet.type !== "DATA") {
    const bytes = Buffer.allocUnsafe(controlBound(packet));
    return bytes.subarray(0, writeControl(bytes, 0, packet));
  }
  const header = Buffer.alloc(MAX_DATA_HEADER_BYTES);
  const end = writeDataHeader(header, 0, packet.connectId, packet.data.length);
  return Buffer.concat([header.subarray(0, end), packet.data]);
}

/**
 * All payloads are strings at 1 and 2 and integers at 1, 2 and 3, no number used twice by one message; proto3 leaves out
 * what has its zero value.
 */
function write(
  into: Buffer,
  at: number,
  type: number,
  text1: string,
  text2: string,
  int1: ConnectId,
  int2: ConnectId,
  int3: ConnectId,
  closeError = "",
): number {
  const bytes1 = text1 === "" ? 0 : Buffer.byteLength(text1);
  const bytes2 = text2 === "" ? 0 : Buffer.byteLength(text2);
  const closeErrorBytes = closeError === "" ? 0 : Buffer.byteLength(closeError);
  const texts = textLength(bytes1) + textLength(bytes2) + (closeErrorBytes === 0 ? 0 : 1 + textLength(closeErrorBytes));
  const inner = texts + intLength(int1) + intLength(int2) + intLength(int3);
  const payloadTag = (payloadField(type)! << 3) | 2;
  const typeLength = type === 0 ? 0 : 1 + varintLength(type);
  let to = writePrefix(into, at, typeLength + varintLength(payloadTag) + varintLength(inner) + inner);
  if (type !== 0) {
    into[to++] = VARINT_1;
    to = writeVarint(into, to, type);
  }
  to = writeVarint(into, to, payloadTag);
  to = writeVarint(into, to, inner);
  if (bytes1 > 0) to = writeText(into, to, BYTES_1, text1, bytes1);
  if (bytes2 > 0) to = writeText(into, to, BYTES_2, text2, bytes2);
  if (int1 !== 0 && int1 !== 0n) to = writeTagged(into, to, VARINT_1, int1);
  if (int2 !== 0 && int2 !== 0n) to = writeTagged(into, to, VARINT_2, int2);
  if (int3 !== 0 && int3 !== 0n) to = writeTagged(into, to, VARINT_3, int3);
  if (closeErrorBytes > 0) to = writeText(into, to, CLOSE_REQ_ERROR_TAG, closeError, closeErrorBytes);
  return to;
}

function textLength(bytes: number): number {
  return bytes === 0 ? 0 : 1 + varintLength(bytes) + bytes;
}

function intLength(value: ConnectId): number {
  return value === 0 || value === 0n ? 0 : 1 + int64Length(value);
}

function writeText(into: Buffer, at: number, tag: number, text: string, bytes: number): number {
  const to = writeVarint(into, writeVarint(into, at, tag), bytes);
  into.write(text, to, bytes, "utf8");
  return to + bytes;
}

function writeTagged(into: Buffer, at: number, tag: number, value: ConnectId): number {
  into[at] = tag;
  return writeInt64(into, at + 1, value);
}

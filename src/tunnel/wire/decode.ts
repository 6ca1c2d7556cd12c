/** One whole protobuf body to a Packet. The streaming reader (packet-reader.ts) calls it for all that is not bulk DATA. */

import {
  CLOSE_REQ_ERROR,
  type ConnectId,
  type DialId,
  type Packet,
  PacketType,
  payloadField,
  WireError,
} from "./packet.js";
import { FieldReader } from "./varint.js";

/** Undefined for a packet type this version does not know: peers may be newer than we are. */
export function decodePacket(body: Buffer): Packet | undefined {
  let type = 0;
  let payloadNumber = 0;
  let from = 0;
  let to = 0;
  const fields = new FieldReader(body);
  while (fields.next()) {
    if (fields.number === 1) {
      if (fields.kind === "int") type = int32(fields.int);
    } else if (fields.kind === "bytes" && isPayloadNumber(fields.number)) {
      // A oneof keeps the member that came last; fields we do not know are not members of ours.
      payloadNumber = fields.number;
      from = fields.from;
      to = fields.to;
    }
  }
  const expected = payloadField(type);
  if (expected === undefined) return undefined;
  if (payloadNumber !== expected) throw new WireError(`packet of type ${type} has no payload`);
  return build(type, new Payload(body, from, to));
}

function isPayloadNumber(number: number): boolean {
  return (number >= 2 && number <= 8) || number === PacketType.CREDIT || number === PacketType.END_OF_STREAM;
}

function build(type: number, payload: Payload): Packet {
  switch (type) {
    case PacketType.DIAL_REQ:
      return { type: "DIAL_REQ", protocol: payload.text(1), address: payload.text(2), random: dialId(payload.int3) };
    case PacketType.DIAL_RSP:
      return { type: "DIAL_RSP", error: payload.text(1), connectId: payload.int2, random: dialId(payload.int3) };
    case PacketType.CLOSE_REQ:
      return closeRequest(payload.int1, payload.text(4));
    case PacketType.CLOSE_RSP:
      return { type: "CLOSE_RSP", connectId: payload.int2, error: payload.text(1) };
    case PacketType.DATA:
      return { type: "DATA", connectId: payload.int1, data: payload.bytes(3) };
    case PacketType.DIAL_CLS:
      return { type: "DIAL_CLS", random: dialId(payload.int1) };
    case PacketType.DRAIN:
      return { type: "DRAIN" };
    case PacketType.CREDIT:
      return { type: "CREDIT", connectId: payload.int1, bytes: creditBytes(payload.int2) };
    default:
      return { type: "END_OF_STREAM", connectId: payload.int1 };
  }
}

function closeRequest(connectId: ConnectId, error: string): Packet {
  return error === "" ? { type: "CLOSE_REQ", connectId } : { type: "CLOSE_REQ", connectId, error };
}

/** The fields any payload may have, by number: integers, and where strings and bytes are. The last of a kind counts. */
class Payload {
  int1: ConnectId = 0;
  int2: ConnectId = 0;
  int3: ConnectId = 0;
  readonly #body: Buffer;
  readonly #from = [0, 0, 0, 0];
  readonly #to = [0, 0, 0, 0];

  constructor(body: Buffer, from: number, to: number) {
    this.#body = body;
    const fields = new FieldReader(body, from, to);
    while (fields.next()) {
      const { number } = fields;
      if (number > 3 && number !== CLOSE_REQ_ERROR) continue;
      if (fields.kind === "bytes") {
        const at = Math.min(number, 4) - 1;
        this.#from[at] = fields.from;
        this.#to[at] = fields.to;
      } else if (fields.kind === "int") {
        if (number === 1) this.int1 = fields.int;
        else if (number === 2) this.int2 = fields.int;
        else if (number === 3) this.int3 = fields.int;
      }
    }
  }

  bytes(number: 1 | 2 | 3): Buffer {
    return this.#body.subarray(this.#from[number - 1]!, this.#to[number - 1]!);
  }

  /** The fourth is a CLOSE_REQ's error. */
  text(number: 1 | 2 | 4): string {
    return utf8(this.#body, this.#from[number - 1]!, this.#to[number - 1]!);
  }
}

function int32(value: ConnectId): number {
  return typeof value === "number" ? value | 0 : Number(BigInt.asIntN(32, value));
}

function dialId(value: ConnectId): DialId {
  return typeof value === "number" ? BigInt(value) : value;
}

function creditBytes(value: ConnectId): number {
  if (typeof value !== "number" || value > 0xffff_ffff) throw new WireError("credit is out of range");
  return value;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A decoder costs several times as much as a look at a few bytes; nearly all text is short and plain. */
const SHORT_BYTES = 64;

/** proto3 strings are UTF-8; Go's decoder refuses anything else, and so do we. */
function utf8(body: Buffer, from: number, to: number): string {
  if (from === to) return "";
  if (to - from <= SHORT_BYTES && isAscii(body, from, to)) return body.toString("latin1", from, to);
  try {
    return strictUtf8.decode(body.subarray(from, to));
  } catch {
    throw new WireError("string field contains invalid UTF-8");
  }
}

function isAscii(body: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (body[at]! > 0x7f) return false;
  return true;
}

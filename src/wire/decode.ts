/** One whole protobuf body to a Packet. The streaming reader (packet-reader.ts) calls it for all that is not bulk DATA. */
import { type ConnectId, type Packet, PacketType, WireError } from "./packet.js";
import { readInt64, toConnectId, VarintReader } from "./varint.js";

/** The fields any payload may have, by number: strings and bytes as ranges, integers as int64. */
interface Fields {
  bytes1: Buffer | undefined;
  bytes2: Buffer | undefined;
  bytes3: Buffer | undefined;
  int1: bigint;
  int2: bigint;
  int3: bigint;
}

const varint = new VarintReader();

/** Undefined for a packet type this version does not know: peers may be newer than we are. */
export function decodePacket(body: Buffer): Packet | undefined {
  let type = 0;
  let payloadNumber = 0;
  let payload: Buffer | undefined;
  forEachField(body, (number, value) => {
    if (number === 1 && typeof value === "bigint") type = Number(BigInt.asIntN(32, value));
    else if (number !== 1 && typeof value !== "bigint" && value !== undefined) {
      // A oneof keeps the member that came last; fields we do not know are not members of ours.
      if (isPayloadNumber(number)) {
        payloadNumber = number;
        payload = value;
      }
    }
  });
  const expected = payloadNumberOf(type);
  if (expected === undefined) return undefined;
  if (payload === undefined || payloadNumber !== expected) throw new WireError(`packet of type ${type} has no payload`);
  return build(type, fieldsOf(payload));
}

function isPayloadNumber(number: number): boolean {
  return (number >= 2 && number <= 8) || number === PacketType.CREDIT || number === PacketType.END_OF_STREAM;
}

/** Upstream's types 0 to 6 have their payload at 2 to 8, except that DATA and the close packets are swapped around. */
function payloadNumberOf(type: number): number | undefined {
  switch (type) {
    case PacketType.DIAL_REQ:
      return 2;
    case PacketType.DIAL_RSP:
      return 3;
    case PacketType.DATA:
      return 4;
    case PacketType.CLOSE_REQ:
      return 5;
    case PacketType.CLOSE_RSP:
      return 6;
    case PacketType.DIAL_CLS:
      return 7;
    case PacketType.DRAIN:
      return 8;
    case PacketType.CREDIT:
    case PacketType.END_OF_STREAM:
      return type;
    default:
      return undefined;
  }
}

function build(type: number, fields: Fields): Packet {
  switch (type) {
    case PacketType.DIAL_REQ:
      return { type: "DIAL_REQ", protocol: utf8(fields.bytes1), address: utf8(fields.bytes2), random: fields.int3 };
    case PacketType.DIAL_RSP:
      return { type: "DIAL_RSP", error: utf8(fields.bytes1), connectId: id(fields.int2), random: fields.int3 };
    case PacketType.CLOSE_REQ:
      return { type: "CLOSE_REQ", connectId: id(fields.int1) };
    case PacketType.CLOSE_RSP:
      return { type: "CLOSE_RSP", connectId: id(fields.int2), error: utf8(fields.bytes1) };
    case PacketType.DATA:
      return { type: "DATA", connectId: id(fields.int1), data: fields.bytes3 ?? Buffer.alloc(0) };
    case PacketType.DIAL_CLS:
      return { type: "DIAL_CLS", random: fields.int1 };
    case PacketType.DRAIN:
      return { type: "DRAIN" };
    case PacketType.CREDIT:
      return { type: "CREDIT", connectId: id(fields.int1), bytes: creditBytes(fields.int2) };
    default:
      return { type: "END_OF_STREAM", connectId: id(fields.int1) };
  }
}

function creditBytes(value: bigint): number {
  if (value < 0n || value > 0xffff_ffffn) throw new WireError("credit is out of range");
  return Number(value);
}

const id = (value: bigint): ConnectId => toConnectId(value);

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** proto3 strings are UTF-8; Go's decoder refuses anything else, and so do we. */
function utf8(bytes: Buffer | undefined): string {
  if (bytes === undefined) return "";
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw new WireError("string field contains invalid UTF-8");
  }
}

function fieldsOf(payload: Buffer): Fields {
  const fields: Fields = {
    bytes1: undefined,
    bytes2: undefined,
    bytes3: undefined,
    int1: 0n,
    int2: 0n,
    int3: 0n,
  };
  forEachField(payload, (number, value) => {
    if (typeof value === "bigint") {
      if (number === 1) fields.int1 = value;
      else if (number === 2) fields.int2 = value;
      else if (number === 3) fields.int3 = value;
    } else if (value !== undefined) {
      if (number === 1) fields.bytes1 = value;
      else if (number === 2) fields.bytes2 = value;
      else if (number === 3) fields.bytes3 = value;
    }
  });
  return fields;
}

const MAX_FIELD_NUMBER = 2 ** 29 - 1;

/** Calls back with an int64 for varints, bytes for length-delimited fields, undefined for what is only skipped. */
function forEachField(body: Buffer, visit: (number: number, value: bigint | Buffer | undefined) => void): void {
  let at = 0;
  while (at < body.length) {
    if (!varint.read(body, at, body.length)) throw new WireError("field tag is cut short");
    at = varint.at;
    const number = Math.floor(varint.value / 8);
    if (number < 1 || number > MAX_FIELD_NUMBER) throw new WireError("field number is out of range");
    switch (varint.value % 8) {
      case 0: {
        const read = readInt64(body, at, body.length);
        if (read === undefined) throw new WireError("integer field is cut short");
        at = read[1];
        visit(number, read[0]);
        break;
      }
      case 1:
        at = skip(body, at, 8);
        visit(number, undefined);
        break;
      case 2: {
        if (!varint.read(body, at, body.length)) throw new WireError("field length is cut short");
        const from = varint.at;
        at = skip(body, from, varint.value);
        visit(number, body.subarray(from, at));
        break;
      }
      case 5:
        at = skip(body, at, 4);
        visit(number, undefined);
        break;
      default:
        throw new WireError("field has a wire type that does not exist in proto3");
    }
  }
}

function skip(body: Buffer, at: number, length: number): number {
  if (at + length > body.length) throw new WireError("field is longer than its message");
  return at + length;
}

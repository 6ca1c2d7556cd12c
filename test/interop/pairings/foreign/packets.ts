/**
 * A second Packet codec, written from the field tables and sharing nothing with src/base, so that a mistake there cannot
 * hide behind the same mistake here.
 */
export type Packet =
  | { type: "DIAL_REQ"; protocol: string; address: string; random: bigint }
  | { type: "DIAL_RSP"; error: string; connectID: bigint; random: bigint }
  | { type: "CLOSE_REQ"; connectID: bigint }
  | { type: "CLOSE_RSP"; error: string; connectID: bigint }
  | { type: "DATA"; connectID: bigint; data: Buffer }
  | { type: "DIAL_CLS"; random: bigint }
  | { type: "DRAIN" };

export type PacketName = Packet["type"];

const NAMES: readonly PacketName[] = ["DIAL_REQ", "DIAL_RSP", "CLOSE_REQ", "CLOSE_RSP", "DATA", "DIAL_CLS", "DRAIN"];
/** Which member of the payload union each type uses. */
const PAYLOAD_FIELD: Record<PacketName, number> = {
  DIAL_REQ: 2,
  DIAL_RSP: 3,
  DATA: 4,
  CLOSE_REQ: 5,
  CLOSE_RSP: 6,
  DIAL_CLS: 7,
  DRAIN: 8,
};

const VARINT = 0;
const BYTES = 2;

export function encode(packet: Packet): Buffer {
  return Buffer.concat([
    field(1, BigInt(NAMES.indexOf(packet.type))),
    wrap(PAYLOAD_FIELD[packet.type], Buffer.concat(payloadFields(packet))),
  ]);
}

function payloadFields(packet: Packet): Buffer[] {
  switch (packet.type) {
    case "DIAL_REQ":
      return [field(1, packet.protocol), field(2, packet.address), field(3, packet.random)];
    case "DIAL_RSP":
      return [field(1, packet.error), field(2, packet.connectID), field(3, packet.random)];
    case "CLOSE_REQ":
      return [field(1, packet.connectID)];
    case "CLOSE_RSP":
      return [field(1, packet.error), field(2, packet.connectID)];
    case "DATA":
      return [field(1, packet.connectID), field(3, packet.data)];
    case "DIAL_CLS":
      return [field(1, packet.random)];
    case "DRAIN":
      return [];
  }
}

/** proto3: a field with its default value is not written. */
function field(number: number, value: bigint | string | Buffer): Buffer {
  if (typeof value === "bigint") {
    return value === 0n ? Buffer.alloc(0) : Buffer.concat([varint(BigInt((number << 3) | VARINT)), varint(value)]);
  }
  const bytes = Buffer.from(value);
  return bytes.length === 0 ? bytes : wrap(number, bytes);
}

/** A length-delimited field, also when it is empty: presence is what a union member is about. */
function wrap(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(BigInt((number << 3) | BYTES)), varint(BigInt(bytes.length)), bytes]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

interface Fields {
  number(field: number): bigint;
  bytes(field: number): Buffer;
}

export function decode(message: Buffer): Packet {
  const outer = read(message);
  const type = NAMES[Number(outer.number(1))];
  if (type === undefined) throw new Error(`a peer sent packet type ${outer.number(1)}, which nobody agreed on`);
  const inner = read(outer.bytes(PAYLOAD_FIELD[type]));
  const text = (number: number) => inner.bytes(number).toString("utf8");
  switch (type) {
    case "DIAL_REQ":
      return { type, protocol: text(1), address: text(2), random: inner.number(3) };
    case "DIAL_RSP":
      return { type, error: text(1), connectID: inner.number(2), random: inner.number(3) };
    case "CLOSE_REQ":
      return { type, connectID: inner.number(1) };
    case "CLOSE_RSP":
      return { type, error: text(1), connectID: inner.number(2) };
    case "DATA":
      return { type, connectID: inner.number(1), data: inner.bytes(3) };
    case "DIAL_CLS":
      return { type, random: inner.number(1) };
    case "DRAIN":
      return { type };
  }
}

function read(message: Buffer): Fields {
  const numbers = new Map<number, bigint>();
  const chunks = new Map<number, Buffer>();
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("a peer sent a message that ends in the middle of a number");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
  };
  while (at < message.length) {
    const key = Number(next());
    if ((key & 7) === VARINT) {
      numbers.set(key >> 3, next());
      continue;
    }
    if ((key & 7) !== BYTES) throw new Error(`a peer sent wire type ${key & 7}, which Packet does not use`);
    const length = Number(next());
    if (at + length > message.length) throw new Error("a peer sent a field that is longer than its message");
    chunks.set(key >> 3, message.subarray(at, at + length));
    at += length;
  }
  return {
    number: (number) => numbers.get(number) ?? 0n,
    bytes: (number) => chunks.get(number) ?? Buffer.alloc(0),
  };
}

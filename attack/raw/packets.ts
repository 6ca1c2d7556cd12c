/** Konnectivity's packets as gRPC messages, written and read without the codec in src/. */

export const PacketType = {
  DIAL_REQ: 0,
  DIAL_RSP: 1,
  CLOSE_REQ: 2,
  CLOSE_RSP: 3,
  DATA: 4,
  DIAL_CLS: 5,
  DRAIN: 6,
} as const;

export interface RawPacket {
  readonly type: number;
  readonly connectId: number;
  /** 64 bits. */
  readonly random: bigint;
  readonly error: string;
  readonly address: string;
  readonly data: Buffer;
}

export const dialRequest = (address: string | Buffer, random: bigint): Buffer =>
  packet(PacketType.DIAL_REQ, 2, bytesField(1, "tcp"), bytesField(2, address), numberField(3, random));

export const dialResponse = (random: bigint, connectId: number, error = ""): Buffer =>
  packet(PacketType.DIAL_RSP, 3, bytesField(1, error), numberField(2, connectId), numberField(3, random));

export const dataPacket = (connectId: number, payload: Buffer): Buffer =>
  packet(PacketType.DATA, 4, numberField(1, connectId), bytesField(3, payload));

export const closeRequest = (connectId: number): Buffer => packet(PacketType.CLOSE_REQ, 5, numberField(1, connectId));

export const closeResponse = (connectId: number, error = ""): Buffer =>
  packet(PacketType.CLOSE_RSP, 6, bytesField(1, error), numberField(2, connectId));

export const closeDial = (random: bigint): Buffer => packet(PacketType.DIAL_CLS, 7, numberField(1, random));

export const drain = (): Buffer => packet(PacketType.DRAIN, 8);

/** A gRPC message around these bytes; `length` may lie. */
export function message(body: Buffer, length = body.length, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, body]);
}

function packet(type: number, payloadField: number, ...fields: readonly Buffer[]): Buffer {
  const payload = Buffer.concat(fields);
  return message(Buffer.concat([numberField(1, type), bytesField(payloadField, payload)]));
}

function numberField(field: number, value: number | bigint): Buffer {
  return BigInt(value) === 0n ? Buffer.alloc(0) : Buffer.concat([varint(field * 8), varint(value)]);
}

function bytesField(field: number, value: string | Buffer): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.of(...bytes, Number(rest));
}

/** Gathers messages out of the bytes of one stream. Meant for small traffic: it copies. */
export class PacketCollector {
  #pending: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): RawPacket[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const packets: RawPacket[] = [];
    while (this.#pending.length >= 5) {
      const end = 5 + this.#pending.readUInt32BE(1);
      if (this.#pending.length < end) break;
      packets.push(parse(this.#pending.subarray(5, end)));
      this.#pending = this.#pending.subarray(end);
    }
    return packets;
  }
}

/** Where each payload keeps its number, its random number, its error, its address and its data. */
const LAYOUT: Readonly<Record<number, Partial<Record<keyof RawPacket, number>>>> = {
  2: { address: 2, random: 3 },
  3: { error: 1, connectId: 2, random: 3 },
  4: { connectId: 1, data: 3 },
  5: { connectId: 1 },
  6: { error: 1, connectId: 2 },
  7: { random: 1 },
};

function parse(body: Buffer): RawPacket {
  const top = fieldsOf(body);
  const [payloadField = 0] = [...top.keys()].filter((field) => field > 1);
  const payload = top.get(payloadField);
  const inner = Buffer.isBuffer(payload) ? fieldsOf(payload) : new Map<number, bigint | Buffer>();
  const layout = LAYOUT[payloadField] ?? {};
  const number = (key: "connectId" | "random") => (inner.get(layout[key] ?? -1) as bigint) ?? 0n;
  const bytes = (key: "error" | "address" | "data") => (inner.get(layout[key] ?? -1) as Buffer) ?? Buffer.alloc(0);
  return {
    type: Number(top.get(1) ?? 0),
    connectId: Number(number("connectId")),
    random: number("random"),
    error: bytes("error").toString(),
    address: bytes("address").toString(),
    data: bytes("data"),
  };
}

function fieldsOf(bytes: Buffer): Map<number, bigint | Buffer> {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  const number = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(number());
    if (tag % 8 === 0) fields.set(Math.floor(tag / 8), number());
    else {
      const length = Number(number());
      fields.set(Math.floor(tag / 8), bytes.subarray(at, at + length));
      at += length;
    }
  }
  return fields;
}

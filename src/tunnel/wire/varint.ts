/** Protobuf base-128 varints over byte arrays, without a bigint unless a value needs one. */
import { type ConnectId, WireError } from "./packet.js";

/** A varint never takes more: ten groups of seven bits hold an int64. */
export const MAX_VARINT_BYTES = 10;

const TWO_POW_31 = 0x8000_0000;

/** Writes a non-negative safe integer; returns the offset behind it. */
export function writeVarint(into: Uint8Array, at: number, value: number): number {
  let rest = value;
  let to = at;
  while (rest >= TWO_POW_31) {
    into[to++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest > 127) {
    into[to++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  into[to++] = rest;
  return to;
}

/** A bigint is taken apart and put together here, in one piece: arithmetic with bigints makes a new one at every step. */
const whole = new BigInt64Array(1);
const halves = new Uint32Array(whole.buffer);
const [LOW, HIGH] = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? [0, 1] : [1, 0];

const TWO_POW_28 = 2 ** 28;
const LOW_28 = TWO_POW_28 - 1;

/** Writes any int64, negative ones as their two's complement, as protobuf does. */
export function writeInt64(into: Uint8Array, at: number, value: ConnectId): number {
  if (typeof value === "number" && value >= 0) return writeVarint(into, at, value);
  whole[0] = BigInt(value);
  const high = halves[HIGH]!;
  const low = halves[LOW]!;
  // Four groups of seven bits, four more, and the last eight bits.
  const middle = ((high << 4) | (low >>> 28)) & LOW_28;
  const rest = high >>> 24;
  if (middle === 0 && rest === 0) return writeVarint(into, at, low & LOW_28);
  let to = writeFour(into, at, low & LOW_28);
  if (rest === 0) return writeVarint(into, to, middle);
  to = writeFour(into, to, middle);
  return writeVarint(into, to, rest);
}

/** Four groups that are followed by more. */
function writeFour(into: Uint8Array, at: number, bits: number): number {
  into[at] = (bits & 0x7f) | 0x80;
  into[at + 1] = ((bits >>> 7) & 0x7f) | 0x80;
  into[at + 2] = ((bits >>> 14) & 0x7f) | 0x80;
  into[at + 3] = (bits >>> 21) | 0x80;
  return at + 4;
}

export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length++;
  return length;
}

export function int64Length(value: ConnectId): number {
  if (typeof value === "number" && value >= 0) return varintLength(value);
  whole[0] = BigInt(value);
  const beyond28 = halves[HIGH]! * 16 + (halves[LOW]! >>> 28);
  return beyond28 === 0 ? varintLength(halves[LOW]!) : 4 + varintLength(beyond28);
}

/**
 * Reads varints one after the other. The result of a read is in `value`, and `at` is the offset behind it. A read is false
 * when the bytes ended first or the varint is longer than it may be.
 */
export class VarintReader {
  at = 0;
  value = 0;

  /** For lengths and tags: anything beyond 2^53 is refused as no message can be that long. */
  read(from: Uint8Array, at: number, end: number): boolean {
    let result = 0;
    let scale = 1;
    for (let index = at; index < end && index - at < 8; index++) {
      const byte = from[index]!;
      result += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.value = result;
        this.at = index + 1;
        return result <= Number.MAX_SAFE_INTEGER;
      }
      scale *= 128;
    }
    return false;
  }
}

/** Reads a full int64 likewise: `value` is a number while that is exact and not negative, else a bigint. */
export class Int64Reader {
  at = 0;
  value: ConnectId = 0;

  /** False when the bytes end first or the varint is longer than it may be. */
  read(from: Uint8Array, at: number, end: number): boolean {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let index = at; index < end && index - at < MAX_VARINT_BYTES; index++) {
      const byte = from[index]!;
      const group = index - at;
      const bits = byte & 0x7f;
      if (group < 4) low |= bits << (7 * group);
      else if (group < 8) middle |= bits << (7 * (group - 4));
      else high |= bits << (7 * (group - 8));
      if (byte >= 0x80) continue;
      this.at = index + 1;
      // 25 bits more than the lowest 28 are exact in a number.
      this.value = high === 0 && middle < 2 ** 25 ? middle * TWO_POW_28 + low : joined(low, middle, high);
      return true;
    }
    return false;
  }
}

function joined(low: number, middle: number, high: number): bigint {
  halves[LOW] = low | (middle << 28);
  halves[HIGH] = (middle >>> 4) | (high << 24);
  return whole[0]!;
}

const MAX_FIELD_NUMBER = 2 ** 29 - 1;

const varint = new VarintReader();
const int64 = new Int64Reader();

/** Reads the fields of one protobuf message, one after the other, without an object for each. */
export class FieldReader {
  /** Number of the current field. */
  number = 0;
  /** `skipped`: of a wire type that no field of ours has. */
  kind: "int" | "bytes" | "skipped" = "skipped";
  int: ConnectId = 0;
  /** Offsets of its bytes. */
  from = 0;
  to = 0;
  #body: Buffer;
  #at: number;
  #end: number;

  constructor(body: Buffer, from = 0, to = body.length) {
    this.#body = body;
    this.#at = from;
    this.#end = to;
  }

  /** False when there are no more. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    if (!varint.read(this.#body, this.#at, this.#end)) throw new WireError("field tag is cut short");
    this.#at = varint.at;
    this.number = Math.floor(varint.value / 8);
    if (this.number < 1 || this.number > MAX_FIELD_NUMBER) throw new WireError("field number is out of range");
    switch (varint.value % 8) {
      case 0:
        if (!int64.read(this.#body, this.#at, this.#end)) throw new WireError("integer field is cut short");
        this.kind = "int";
        this.int = int64.value;
        this.#at = int64.at;
        break;
      case 1:
        this.#pass("skipped", 8);
        break;
      case 2:
        if (!varint.read(this.#body, this.#at, this.#end)) throw new WireError("field length is cut short");
        this.#at = varint.at;
        this.#pass("bytes", varint.value);
        break;
      case 5:
        this.#pass("skipped", 4);
        break;
      default:
        throw new WireError("field has a wire type that does not exist in proto3");
    }
    return true;
  }

  #pass(kind: "bytes" | "skipped", length: number): void {
    if (this.#at + length > this.#end) throw new WireError("field is longer than its message");
    this.kind = kind;
    this.from = this.#at;
    this.#at += length;
    this.to = this.#at;
  }
}

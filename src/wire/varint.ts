/** Protobuf base-128 varints over byte arrays, without a bigint unless a value needs one. */
import type { ConnectId } from "./packet.js";

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

/** 28 bits are four groups of seven: a bigint is taken apart and put together in three such pieces, not in ten. */
const LOW_28 = 0xfff_ffffn;

/** Writes any int64, negative ones as their two's complement, as protobuf does. */
export function writeInt64(into: Uint8Array, at: number, value: ConnectId): number {
  if (typeof value === "number" && value >= 0) return writeVarint(into, at, value);
  const whole = BigInt.asUintN(64, BigInt(value));
  const low = Number(whole & LOW_28);
  const middle = Number((whole >> 28n) & LOW_28);
  const high = Number(whole >> 56n);
  if (middle === 0 && high === 0) return writeVarint(into, at, low);
  let to = writeFour(into, at, low);
  if (high === 0) return writeVarint(into, to, middle);
  to = writeFour(into, to, middle);
  return writeVarint(into, to, high);
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
  const whole = BigInt.asUintN(64, BigInt(value));
  const high = Number(whole >> 28n);
  return high === 0 ? varintLength(Number(whole)) : 4 + varintLength(high);
}

/**
 * Reads varints one after the other. The result of a read is in `value` (or `int64` for full precision) and `at` stands
 * behind it; `ok` is false when the bytes ended first or the varint is longer than it may be.
 */
export class VarintReader {
  at = 0;
  ok = true;
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
        this.ok = result <= Number.MAX_SAFE_INTEGER;
        return this.ok;
      }
      scale *= 128;
    }
    this.ok = false;
    return false;
  }
}

/** Reads a full int64 as a bigint; undefined when the bytes end first. Returns [value, offset behind it]. */
export function readInt64(from: Uint8Array, at: number, end: number): [bigint, number] | undefined {
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
    if (byte < 0x80) {
      if (group < 4) return [BigInt(low), index + 1];
      const whole = (BigInt(high) << 56n) | (BigInt(middle) << 28n) | BigInt(low);
      return [group < 8 ? whole : BigInt.asIntN(64, whole), index + 1];
    }
  }
  return undefined;
}

/** A connection number in its canonical form: a number while exact, else a bigint. */
export function toConnectId(value: bigint): ConnectId {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

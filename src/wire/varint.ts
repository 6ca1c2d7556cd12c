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

/** Writes any int64, negative ones as their two's complement, as protobuf does. */
export function writeInt64(into: Uint8Array, at: number, value: ConnectId): number {
  if (typeof value === "number" && value >= 0) return writeVarint(into, at, value);
  let rest = BigInt.asUintN(64, BigInt(value));
  let to = at;
  while (rest > 127n) {
    into[to++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  into[to++] = Number(rest);
  return to;
}

export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length++;
  return length;
}

export function int64Length(value: ConnectId): number {
  if (typeof value === "number" && value >= 0) return varintLength(value);
  let length = 1;
  for (let rest = BigInt.asUintN(64, BigInt(value)); rest > 127n; rest >>= 7n) length++;
  return length;
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
  let result = 0n;
  let shift = 0n;
  for (let index = at; index < end && index - at < MAX_VARINT_BYTES; index++) {
    const byte = from[index]!;
    result |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [BigInt.asIntN(64, result), index + 1];
    shift += 7n;
  }
  return undefined;
}

/** A connection number in its canonical form: a number while exact, else a bigint. */
export function toConnectId(value: bigint): ConnectId {
  return value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

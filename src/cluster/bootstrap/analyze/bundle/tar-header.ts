/** The 512 bytes before each member of a tar archive. */
import { DamagedArchive } from "./refusal.js";

export const BLOCK = 512;

export interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: Date;
  /** `0` file, `5` folder, `2` symbolic link, `x` and `g` pax records, `L` a long name, ... */
  readonly type: string;
}

/** Undefined for the block of zeros that ends an archive. */
export function readHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (number(block, 148, 8) !== checksum(block)) throw new DamagedArchive("it is not a tar archive, or a damaged one");
  const prefix = block.toString("latin1", 257, 262) === "ustar" ? text(block, 345, 155) : "";
  const name = text(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    size: number(block, 124, 12),
    modifiedAt: new Date(number(block, 136, 12) * 1000),
    // Archives older than POSIX have a zero here.
    type: block.toString("latin1", 156, 157).replace("\0", "0"),
  };
}

/** Of the header with eight spaces in the checksum's own place. */
function checksum(block: Buffer): number {
  let sum = 8 * 0x20;
  for (const [index, byte] of block.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum;
}

function text(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
}

/** Octal text; GNU writes large numbers in base 256, marked by the first bit. */
function number(block: Buffer, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  const value =
    (field[0]! & 0x80) === 0
      ? Number.parseInt(field.toString("latin1").replaceAll("\0", " ").trim() || "0", 8)
      : [...field.subarray(1)].reduce((sum, byte) => sum * 256 + byte, 0);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new DamagedArchive("it is not a tar archive, or a damaged one");
}

/** The records of a pax header: `27 path=some/long/name\n`, the length counting itself. */
export function paxRecords(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, Math.max(at, space)));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > content.length) break;
    const record = content.toString("utf8", space + 1, at + length - 1);
    const equals = record.indexOf("=");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

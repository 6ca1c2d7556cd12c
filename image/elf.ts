/**
 * Which shared libraries an executable or library asks for by name (DT_NEEDED), read from its bytes: running ldd would
 * answer with the libraries of this machine, not with those of the packages the image takes them from.
 */
export function neededLibraries(file: Buffer): string[] {
  if (file.length < 64 || file.toString("latin1", 0, 4) !== "\x7fELF" || file[4] !== 2 || file[5] !== 1) {
    throw new Error("This is no 64-bit little-endian ELF file.");
  }
  const segments = programHeaders(file);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let stringTable = 0;
  for (let at = dynamic.offset; at + 16 <= dynamic.offset + dynamic.size; at += 16) {
    const [tag, value] = [number64(file, at), number64(file, at + 8)];
    if (tag === DT_NULL) break;
    if (tag === DT_NEEDED) names.push(value);
    if (tag === DT_STRTAB) stringTable = value;
  }
  // The table is given by its address in memory; the loaded segment around it says where that is in the file.
  const home = segments.find((one) => one.type === PT_LOAD && inside(stringTable, one.address, one.size));
  if (home === undefined) throw new Error("This ELF file has no string table for its libraries.");
  const base = stringTable - home.address + home.offset;
  return names.map((offset) => file.toString("latin1", base + offset, file.indexOf(0, base + offset)));
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NULL = 0;
const DT_NEEDED = 1;
const DT_STRTAB = 5;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function programHeaders(file: Buffer): Segment[] {
  const [start, length, count] = [number64(file, 0x20), file.readUInt16LE(0x36), file.readUInt16LE(0x38)];
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * length;
    return {
      type: file.readUInt32LE(at),
      offset: number64(file, at + 0x08),
      address: number64(file, at + 0x10),
      size: number64(file, at + 0x20),
    };
  });
}

const inside = (value: number, start: number, size: number): boolean => value >= start && value < start + size;
const number64 = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at));

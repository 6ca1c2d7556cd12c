/** Tar archives: a reader of regular files that never unpacks anything, and a writer of ustar. */

const BLOCK = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** One member of an archive to be written, owned by root. */
export interface TarMember {
  /** Relative; the path of a directory ends with a slash. */
  readonly path: string;
  readonly mode: number;
  /** Absent for directories and links. */
  readonly content?: Buffer;
  readonly linkTo?: string;
  /** 1970 unless given. */
  readonly modifiedAt?: Date;
}

/** The archive in pieces, in the order given. File contents are handed on as they are, never copied. */
export function* tar(members: Iterable<TarMember>): Generator<Buffer> {
  for (const member of members) yield* tarMember(member);
  yield TAR_END;
}

export const TAR_END = Buffer.alloc(2 * BLOCK);

export function* tarMember(member: TarMember): Generator<Buffer> {
  const { path, content, linkTo } = member;
  if (Buffer.byteLength(linkTo ?? "") > NAME_BYTES)
    throw new Error(`The target of the link ${path} is too long for a tar header.`);
  const names = splitPath(path);
  if (names === undefined) {
    // GNU's long name, which every tar reads.
    const name = Buffer.from(`${path}\0`);
    yield writtenHeader({ path: "././@LongLink", mode: 0o600, content: name }, "L");
    yield* padded(name);
  }
  yield writtenHeader(member, linkTo !== undefined ? "2" : content !== undefined ? "0" : "5", names);
  if (content !== undefined) yield* padded(content);
}

function* padded(content: Buffer): Generator<Buffer> {
  const rest = content.length % BLOCK;
  if (content.length > 0) yield content;
  if (rest > 0) yield Buffer.alloc(BLOCK - rest);
}

interface SplitPath {
  readonly prefix: string;
  readonly name: string;
}

/** A long path is kept in two fields, divided at a slash that is written in neither; undefined where none fits. */
function splitPath(path: string): SplitPath | undefined {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: "", name: path };
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= NAME_BYTES;
    if (fits && name !== "") return { prefix, name };
  }
  return undefined;
}

function writtenHeader(
  { path, mode, content, linkTo, modifiedAt }: TarMember,
  type: string,
  { prefix, name }: SplitPath = { prefix: "", name: path },
): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset, "latin1");
  block.write(name, 0, NAME_BYTES, "utf8");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content?.length ?? 0, 124, 12);
  octal(Math.max(0, Math.floor((modifiedAt?.getTime() ?? 0) / 1000)), 136, 12);
  block.write(type, 156, "latin1");
  block.write(linkTo ?? "", 157, NAME_BYTES, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  block.write(prefix, 345, PREFIX_BYTES, "utf8");
  block.write(`${checksum(block).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** The checksum of a header, with eight spaces in the checksum's own field. */
function checksum(block: Buffer): number {
  let sum = 8 * 0x20;
  for (const [index, byte] of block.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum;
}

/** One regular file of an archive, as it streams by. */
export interface TarEntry {
  /** With forward slashes, and nothing in it that leads out of the archive's root. */
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: Date;
  /** To be read, or left, before the next entry is asked for. */
  content(): AsyncIterable<Buffer>;
}

export interface TarLimits {
  /** Size of the archive when unpacked. */
  readonly bytes: number;
  readonly members: number;
}

/** The log bundle of a large cluster unpacks to one or two gigabytes. */
const LARGEST_BUNDLE: TarLimits = { bytes: 6 * 1024 ** 3, members: 200_000 };

/** Says what is wrong with the bytes, as the end of a sentence whose subject is the archive. */
export class DamagedArchive extends Error {}

/** It ends, or is damaged, between two members: those before are whole. */
export class BrokenBetween extends DamagedArchive {}

/** Somebody made it to do harm: what was read of it before is not to be used either. */
export class HostileArchive extends DamagedArchive {}

/** Names and pax records are small; a large one is an attack on memory. */
const LONGEST_EXTENSION = 64 * 1024;

/** Path and size from an extension header, for the member that follows it. */
interface Override {
  readonly path?: string;
  readonly size?: number;
}

/** Throws DamagedArchive. */
export async function* tarEntries(
  stream: AsyncIterable<Buffer>,
  limits: TarLimits = LARGEST_BUNDLE,
): AsyncGenerator<TarEntry, void, void> {
  const source = new ByteSource(stream);
  let override: Override = {};
  try {
    for (let members = 0; ; members++) {
      const block = await source.take(BLOCK);
      // An archive without an end marker was still being written.
      if (block.length < BLOCK) throw new BrokenBetween(source.taken === 0 ? "it is empty" : CUT_SHORT);
      const header = readHeader(block);
      if (header === undefined) {
        // Read to the end of the stream, where a checksum of gzip may still fail.
        await source.skip(limits.bytes - source.taken);
        return;
      }
      if (members >= limits.members) throw new HostileArchive(`it has more than ${limits.members} members`);
      const size = override.size ?? header.size;
      if (source.taken + size > limits.bytes) {
        throw new HostileArchive(`it unpacks to more than ${Math.round(limits.bytes / 1024 ** 2)} MiB, as no logs do`);
      }
      const end = source.taken + Math.ceil(size / BLOCK) * BLOCK;
      if (header.type === "x" || header.type === "L") {
        override = { ...override, ...(await extension(source, header)) };
      } else {
        if (header.type === "0" || header.type === "7")
          yield entryOf(source, override.path ?? header.name, size, header);
        override = {};
      }
      await source.skip(end - source.taken);
      if (source.taken < end) throw cutShort();
    }
  } finally {
    await source.close();
  }
}

function entryOf(source: ByteSource, name: string, size: number, { modifiedAt }: TarHeader): TarEntry {
  return {
    path: safePath(name),
    size,
    modifiedAt,
    async *content() {
      const end = source.taken + size;
      yield* source.pieces(size);
      if (source.taken < end) throw cutShort();
    },
  };
}

async function extension(source: ByteSource, { type, size }: TarHeader): Promise<Override> {
  if (size > LONGEST_EXTENSION) throw new HostileArchive("it has a member with an absurdly long name");
  const content = await source.take(size);
  if (content.length < size) throw cutShort();
  if (type === "L") return { path: content.toString("utf8").replace(/\0.*$/s, "") };
  const records = paxRecords(content);
  const length = Number(records.get("size"));
  const path = records.get("path");
  return {
    ...(path === undefined ? {} : { path }),
    ...(records.has("size") && Number.isSafeInteger(length) && length >= 0 ? { size: length } : {}),
  };
}

/** The records of a pax header: `27 path=some/long/name\n`, the length counting itself. */
function paxRecords(content: Buffer): ReadonlyMap<string, string> {
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

/** Nothing is unpacked here, but whoever made such a name wanted it to be: the whole archive is refused. */
function safePath(name: string): string {
  const path = name.replace(/^(\.\/+)+/, "");
  const leadsOut = path.startsWith("/") || path.includes("\\") || path.split("/").includes("..");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (leadsOut || path === "" || /[\u0000-\u001f\u007f]/.test(path)) {
    throw new HostileArchive(`it holds the path ${JSON.stringify(name.slice(0, 100))}, which no gather writes`);
  }
  return path;
}

const CUT_SHORT = "it ends in the middle";
const cutShort = () => new DamagedArchive(CUT_SHORT);
const damaged = () => new BrokenBetween("it is not a tar archive, or a damaged one");

interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: Date;
  /** `0` file, `5` directory, `2` symbolic link, `x` and `g` pax records, `L` a long name, ... */
  readonly type: string;
}

/** Undefined for the block of zeros that ends an archive. */
function readHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (numberAt(block, 148, 8) !== checksum(block)) throw damaged();
  const prefix = block.toString("latin1", 257, 262) === "ustar" ? textAt(block, 345, PREFIX_BYTES) : "";
  const name = textAt(block, 0, NAME_BYTES);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    size: numberAt(block, 124, 12),
    modifiedAt: new Date(numberAt(block, 136, 12) * 1000),
    // Archives older than POSIX have a zero byte here.
    type: block.toString("latin1", 156, 157).replace("\0", "0"),
  };
}

function textAt(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
}

/** Octal text; GNU writes large numbers in base 256, marked by the first bit. */
function numberAt(block: Buffer, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  const value =
    (field[0]! & 0x80) === 0
      ? Number.parseInt(field.toString("latin1").replaceAll("\0", " ").trim() || "0", 8)
      : [...field.subarray(1)].reduce((sum, byte) => sum * 256 + byte, 0);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw damaged();
}

/** Bytes of a stream in the portions that a parser asks for; it holds no more than one chunk. */
class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  /** How many bytes were handed out. */
  taken = 0;

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** Exactly so many bytes, or fewer when the stream ends. */
  async take(length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(length)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** The next bytes in pieces as they come. */
  async *pieces(length: number): AsyncGenerator<Buffer, void, void> {
    for (let wanted = length; wanted > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done === true) return;
        this.#rest = value;
      }
      const piece = this.#rest.subarray(0, wanted);
      this.#rest = this.#rest.subarray(piece.length);
      this.taken += piece.length;
      wanted -= piece.length;
      yield piece;
    }
  }

  async skip(length: number): Promise<void> {
    for await (const _ of this.pieces(length));
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

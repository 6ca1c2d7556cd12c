/** A bundle, packed or not, as a sequence of files whose paths start at its root, and their contents within bounds. */
import { createReadStream } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { unreadBecause } from "../../../base/errors/unread.js";
import { DamagedArchive, HostileArchive, type TarEntry, tarEntries } from "../../../base/tar.js";

/** `isPartial`: what was read before is whole and may be judged. */
export class UnusableBundle extends DrawbridgeError {
  readonly why: string;
  readonly isPartial: boolean;

  constructor(path: string, why: string, isPartial = false, cause?: unknown) {
    super("DB_BUNDLE", `${path} cannot be analysed: ${why}.`, { cause });
    this.why = why;
    this.isPartial = isPartial;
  }
}

/** Throws UnusableBundle with one sentence, whatever is wrong, here and where a file's content is read. */
export async function* openBundle(path: string): AsyncGenerator<TarEntry, void, void> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    (reason: unknown) => Promise.reject(unusable(path, reason)),
  );
  const entries = withNested(isDirectory ? folderEntries(path) : archiveEntries(path));
  for await (const entry of explained(path, entries)) {
    yield { ...entry, path: fromRoot(entry.path), content: () => explained(path, entry.content()) };
  }
}

async function* explained<T>(path: string, items: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  try {
    yield* items;
  } catch (reason) {
    throw unusable(path, reason);
  }
}

function unusable(path: string, reason: unknown): DrawbridgeError {
  if (reason instanceof DrawbridgeError) return reason;
  const { code } = reason as NodeJS.ErrnoException;
  const isGzip = typeof code === "string" && code.startsWith("Z_");
  const why = isGzip ? "it is damaged (gzip)" : unreadBecause(reason);
  const isPartial = isGzip || (reason instanceof DamagedArchive && !(reason instanceof HostileArchive));
  return new UnusableBundle(path, why, isPartial, reason);
}

const DEEPEST = 12;

/** Regular files only: a link in a bundle from elsewhere may point anywhere. */
async function* folderEntries(root: string, under = "", depth = 0): AsyncGenerator<TarEntry, void, void> {
  if (depth > DEEPEST) return;
  const found = await readdir(join(root, under), { withFileTypes: true });
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = under === "" ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory()) yield* folderEntries(root, path, depth + 1);
    if (!entry.isFile()) continue;
    const { size, mtime } = await lstat(join(root, path));
    yield { path, size, modifiedAt: mtime, content: () => createReadStream(join(root, path)) };
  }
}

function archiveEntries(path: string): AsyncGenerator<TarEntry, void, void> {
  return tarEntries(unpacked(createReadStream(path, { highWaterMark: CHUNK })));
}

const CHUNK = 256 * 1024;
const NESTED = /(?:^|\/)(?:log-bundle|drawbridge-gather)-[^/]*\.(?:tar|tgz|tar\.gz)$/;
const MOST_NESTED = 4;

/** Archives that were packed again, with others or alone, are read where they stand. */
async function* withNested(entries: AsyncIterable<TarEntry>): AsyncGenerator<TarEntry, void, void> {
  let nested = 0;
  for await (const entry of entries) {
    if (NESTED.test(entry.path) && ++nested <= MOST_NESTED) yield* tarEntries(unpacked(entry.content()));
    else yield entry;
  }
}

/** What people give instead of an archive, by its first characters. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/^\s*(?:<!doctype html|<html)/i, "it is a web page and not an archive: download it again, signed in where it lies"],
  [/^\s*<\?xml/, "it is an XML answer and not an archive: download it again, signed in where it lies"],
  [/^\s*\{/, "it is JSON and not an archive: download it again, signed in where it lies"],
  [/^PK\W\W/, "it is a zip archive: unpack it and give the directory"],
  [/^\xfd7zXZ/, "it is packed with xz: unpack it (tar -xJf) and give the directory"],
  [/^BZh/, "it is packed with bzip2: unpack it (tar -xjf) and give the directory"],
  [/^\x28\xb5\x2f\xfd/, "it is packed with zstd: unpack it (tar --zstd -xf) and give the directory"],
];

/** The bytes of a tar archive, packed with gzip or not, or twice as some downloads are. */
async function* unpacked(stream: AsyncIterable<Buffer>, depth = 0): AsyncGenerator<Buffer, void, void> {
  const chunks = stream[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let isDone = false;
  try {
    while (head.length < 512 && !isDone) {
      const { value, done } = await chunks.next();
      isDone = done === true;
      if (value !== undefined) head = Buffer.concat([head, value]);
    }
    const all = rejoined(head, chunks);
    if (head[0] === 0x1f && head[1] === 0x8b && depth < 2) return yield* unpacked(gunzipped(all), depth + 1);
    const other = OTHERS.find(([pattern]) => pattern.test(head.toString("latin1", 0, 512)));
    if (other !== undefined) throw new DamagedArchive(other[1]);
    if (depth === 0 && head.length > 0 && head.length < 512) throw new DamagedArchive("it is not a tar archive");
    yield* all;
  } finally {
    await chunks.return?.();
  }
}

async function* rejoined(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** What is cut off gives all that came before it; the reader of the archive sees where it ends. */
function gunzipped(packed: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK, finishFlush: constants.Z_SYNC_FLUSH });
  // pipeline hands errors of the source on to the reader, who asks gunzip only.
  return pipeline(Readable.from(packed), gunzip, () => undefined) as AsyncIterable<Buffer>;
}

/** Every kind of archive has one folder around everything, named by the time it was made; others may be around that. */
function fromRoot(path: string): string {
  return path.replace(/^(?:.*\/)?(?:log-bundle|drawbridge-gather)-[^/]*\//, "");
}

/** Undefined when it is larger than that. */
export async function wholeText(entry: TarEntry, largest: number): Promise<string | undefined> {
  if (entry.size > largest) return undefined;
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of entry.content()) {
    length += piece.length;
    if (length > largest) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** The bytes of a line that are read; the rest of a longer line is ignored. */
const LONGEST_LINE = 16 * 1024;

export async function* linesOf(
  content: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly number: number; readonly text: string }, void, void> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of content) {
    let start = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      yield { number: ++number, text: textOf(rest, piece.subarray(start, end)) };
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    // Copied: the chunk is the stream's own and may be long.
    if (rest.length < LONGEST_LINE) rest = Buffer.concat([rest, piece.subarray(start, start + LONGEST_LINE)]);
  }
  if (rest.length > 0) yield { number: ++number, text: textOf(rest, Buffer.alloc(0)) };
}

function textOf(first: Buffer, second: Buffer): string {
  const line = first.length === 0 ? second : Buffer.concat([first, second]);
  return line.toString("utf8", 0, LONGEST_LINE).replace(/\r$/, "");
}

/** A bundle, packed or not, as a sequence of files whose paths start at its root, and their contents within bounds. */
import { createReadStream } from "node:fs";
import { lstat, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { DamagedArchive, type TarEntry, tarEntries } from "../../../base/tar.js";

export function unusableBundle(path: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_BUNDLE", `${path} cannot be analysed: ${why}.`, { cause });
}

/** Throws DB_BUNDLE with one sentence, whatever is wrong. */
export async function* openBundle(path: string): AsyncGenerator<TarEntry, void, void> {
  try {
    const entries = (await stat(path)).isDirectory() ? folderEntries(path) : archiveEntries(path);
    for await (const entry of entries) yield { ...entry, path: fromRoot(entry.path), content: () => entry.content() };
  } catch (reason) {
    if (reason instanceof DrawbridgeError) throw reason;
    throw unusableBundle(path, explained(reason), reason);
  }
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

async function* archiveEntries(path: string): AsyncGenerator<TarEntry, void, void> {
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const packed = await isGzip(path);
  // pipeline hands errors of the file on to the reader, who asks gunzip only.
  const stream = packed ? pipeline(file, createGunzip({ chunkSize: 256 * 1024 }), () => undefined) : file;
  yield* tarEntries(stream as AsyncIterable<Buffer>);
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead === 0) throw new DamagedArchive("it is empty");
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

/** Both kinds of archive have one folder around everything, named by the time it was made. */
function fromRoot(path: string): string {
  return path.replace(/^(log-bundle|drawbridge-gather)-[^/]*\//, "");
}

function explained(reason: unknown): string {
  if (reason instanceof DamagedArchive) return reason.message;
  const { code } = reason as NodeJS.ErrnoException;
  if (code === "Z_BUF_ERROR" || code === "ERR_STREAM_PREMATURE_CLOSE") return "it ends in the middle";
  if (typeof code === "string" && code.startsWith("Z_")) return "it is damaged (gzip)";
  return code === "ENOENT" ? "it does not exist" : messageOf(reason);
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

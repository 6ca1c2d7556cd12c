/** A bundle, packed or not, as a sequence of files whose paths start at its root. */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { DamagedArchive, tarEntries } from "../../../../base/tar.js";
import type { BundleEntry } from "./entry.js";
import { folderEntries } from "./folder-entries.js";
import { unusableBundle } from "./refusal.js";

/** Throws DB_BUNDLE with one sentence, whatever is wrong. */
export async function* openBundle(path: string): AsyncGenerator<BundleEntry, void, void> {
  try {
    const entries = (await stat(path)).isDirectory() ? folderEntries(path) : archiveEntries(path);
    for await (const entry of entries) yield { ...entry, path: fromRoot(entry.path), content: () => entry.content() };
  } catch (reason) {
    if (reason instanceof DrawbridgeError) throw reason;
    throw unusableBundle(path, explained(reason), reason);
  }
}

async function* archiveEntries(path: string): AsyncGenerator<BundleEntry, void, void> {
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

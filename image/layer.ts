import { type TarMember, tar } from "../src/base/tar.js";

const FOLDER_MODE = 0o755;

/**
 * One layer of an image: the same entries give the same bytes, whatever order they come in, and every folder on the way
 * to a file is there, because runtimes would otherwise make it with whatever rights they like.
 */
export function layer(entries: readonly TarMember[]): Generator<Buffer> {
  const byPath = new Map<string, TarMember>();
  for (const entry of entries) {
    if (byPath.has(entry.path)) throw new Error(`The layer has two entries for ${entry.path}.`);
    byPath.set(entry.path, entry);
  }
  for (const { path } of entries) {
    for (const folder of foldersAbove(path)) {
      if (!byPath.has(folder)) byPath.set(folder, { path: folder, mode: FOLDER_MODE });
    }
  }
  return tar([...byPath.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))));
}

function foldersAbove(path: string): string[] {
  const parts = path.replace(/\/$/, "").split("/");
  return parts.slice(1).map((_, depth) => `${parts.slice(0, depth + 1).join("/")}/`);
}

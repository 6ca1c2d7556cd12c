/** The same for a bundle that somebody unpacked. */
import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BundleEntry } from "./entry.js";

const DEEPEST = 12;

/** Regular files only: a link in somebody else's bundle may point anywhere. */
export async function* folderEntries(root: string, under = "", depth = 0): AsyncGenerator<BundleEntry, void, void> {
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

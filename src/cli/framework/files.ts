/** Files that commands read and write. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError, wrapErrors } from "../../base/errors/error.js";
import { unreadBecause } from "../../base/errors/unread.js";
import { makeDirectory, replaceFiles } from "../../base/files.js";

/** Name of a file in messages; `-` is standard input. */
export const inputName = (file: string): string => (file === "-" ? "standard input" : file);

/** A file, or standard input for `-`. Throws an error of this code; `remedy` names the flag where the command has several files. */
export async function readInput(file: string, code: ErrorCode = "DB_FLAG_VALUE", remedy?: string): Promise<Buffer> {
  try {
    // Descriptor 0 rather than a path: not every system has one for it.
    return file === "-" ? readFileSync(0) : await readFile(file);
  } catch (cause) {
    throw new DrawbridgeError(code, `${inputName(file)} cannot be read: ${unreadBecause(cause)}.`, { cause, remedy });
  }
}

interface RenderedFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** Puts files into a directory, all of them or none. Resolves to their paths, in the order of `files`. */
export async function writeRendering(directory: string, files: readonly RenderedFile[]): Promise<string[]> {
  const targets = files.map(({ name, text: content, mode }) => ({ path: join(directory, name), content, mode }));
  for (const { path } of targets)
    await wrapErrors("DB_RENDER_WRITE", `${path} cannot be written`, () => makeDirectory(dirname(path)));
  await wrapErrors("DB_RENDER_WRITE", `the files cannot be written into ${directory}`, () => replaceFiles(targets));
  return targets.map(({ path }) => path);
}

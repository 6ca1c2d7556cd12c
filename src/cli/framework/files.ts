/** Files that commands read and write. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { wrapErrors } from "../../base/errors/error.js";
import { makeDirectory, replaceFile } from "../../base/files.js";

/** Name of a file in messages; `-` is standard input. */
export const inputName = (file: string): string => (file === "-" ? "standard input" : file);

/** A file, or standard input for `-`. Throws an error of this code. */
export async function readInput(file: string, code: ErrorCode = "DB_FLAG_VALUE"): Promise<Buffer> {
  // Descriptor 0 rather than a path: not every system has one for it.
  return wrapErrors(code, `${inputName(file)} cannot be read`, () => (file === "-" ? readFileSync(0) : readFile(file)));
}

interface RenderedFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** Puts files into a directory, each whole or not at all. Resolves to their paths, in the order of `files`. */
export async function writeRendering(directory: string, files: readonly RenderedFile[]): Promise<string[]> {
  const written: string[] = [];
  for (const { name, text, mode } of files) {
    const target = join(directory, name);
    await wrapErrors("DB_RENDER_WRITE", `${target} cannot be written`, async () => {
      await makeDirectory(dirname(target));
      await replaceFile(target, text, mode);
    });
    written.push(target);
  }
  return written;
}

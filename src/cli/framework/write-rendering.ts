/** Puts a rendering into a directory, each file whole or not at all. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { replaceFile } from "../../base/files.js";

interface RenderedFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** The paths that were written, in the order of `files`. */
export async function writeRendering(directory: string, files: readonly RenderedFile[]): Promise<string[]> {
  const written: string[] = [];
  for (const { name, text, mode } of files) {
    const target = join(directory, name);
    try {
      await mkdir(dirname(target), { recursive: true });
      await replaceFile(target, text, mode);
    } catch (reason) {
      throw new DrawbridgeError("DB_RENDER_WRITE", `${target} cannot be written: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
    written.push(target);
  }
  return written;
}

/** Puts a rendering into a directory, each file whole or not at all. */
import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import type { RenderedFile } from "./text.js";

export async function writeFiles(directory: string, files: readonly RenderedFile[]): Promise<string[]> {
  const written: string[] = [];
  for (const file of files) {
    const target = join(directory, file.name);
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeWhole(target, file);
    } catch (reason) {
      throw new DrawbridgeError("DB_RENDER_WRITE", `${target} cannot be written: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
    written.push(target);
  }
  return written;
}

/** Beside its name first, so that a reader or a full disk never leaves half a file. */
async function writeWhole(target: string, { text, mode }: RenderedFile): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  const file = await open(temporary, "wx", mode);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
    await file.close();
    await rename(temporary, target);
  } catch (reason) {
    await file.close();
    await rm(temporary, { force: true });
    throw reason;
  }
}

/**
 * Durable files. There is one policy for all of them:
 * - The content is written to a hidden temporary file in the target's directory, which only its owner can read, and
 *   which never follows a link that somebody placed there.
 * - The temporary file gets its final mode and is flushed to the disk before it takes the target's name, so that
 *   readers, a killed process and a power cut leave the old file or the new one, never a part of it.
 * - The directory is flushed afterwards, so that a power cut does not undo the rename. That is best effort: the file is
 *   in place by then, and not every file system can do it.
 * - A symbolic link at the target is replaced, not followed; a caller that wants to keep it passes its real path.
 * - A file that somebody else made, or whose mode and owner somebody may have chosen, keeps them (`keep`).
 */
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import * as nodeFs from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface FileContent {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
  /** The mode, and as far as this user may the owner, of the file that is replaced; `mode` only when there is none. */
  readonly keep?: true;
  /** The temporary file's path, for a caller that has to find it again after a crash; a file at that path is removed. */
  readonly temporary?: string;
}

/** Operations that can fail; tests pass their own. */
type FileOperations = Pick<typeof nodeFs, "lstat" | "open" | "rename" | "rm">;

/** Creates the file, or replaces the one at its path. */
export function replaceFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  { fs, ...options }: Pick<FileContent, "keep" | "temporary"> & { readonly fs?: FileOperations } = {},
): Promise<void> {
  return replaceFiles([{ path, content, mode, ...options }], fs);
}

/** Changes a file that belongs to the user: it keeps its mode and its owner, and a link to it stays one. */
export async function rewriteFile(path: string, content: string | Uint8Array, modeIfNew: number): Promise<void> {
  await replaceFile(await nodeFs.realpath(path).catch(() => path), content, modeIfNew, { keep: true });
}

/** Replaces several files in the given order; none takes its name before all of them are complete on disk. */
export async function replaceFiles(files: readonly FileContent[], fs: FileOperations = nodeFs): Promise<void> {
  const staged = files.map((file) => ({ temporary: temporaryPathFor(file.path), ...file }));
  try {
    for (const { temporary, path, content, mode, keep } of staged) {
      await fs.rm(temporary, { force: true });
      const before = keep ? await fs.lstat(path).catch(() => undefined) : undefined;
      const kept = before?.isFile() ? before : undefined;
      await createFile(temporary, content, kept === undefined ? mode : kept.mode & 0o7777, fs, kept);
    }
    for (const { temporary, path } of staged) await fs.rename(temporary, path);
  } catch (reason) {
    for (const { temporary } of staged) await fs.rm(temporary, { force: true }).catch(() => undefined);
    throw reason;
  }
  for (const directory of new Set(files.map(({ path }) => dirname(path)))) await syncDirectory(directory);
}

/**
 * Writes a file that does not exist yet; fails with EEXIST when it does. It is complete on disk when this resolves, and
 * gone when this rejects.
 */
export async function createFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  fs: Pick<typeof nodeFs, "open" | "rm"> = nodeFs,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const file = await fs.open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
    // Only root may give files away; others own what they write.
    if (owner !== undefined) await file.chown(owner.uid, owner.gid).catch(() => undefined);
    await file.chmod(mode);
    await file.sync();
  } catch (reason) {
    await fs.rm(path, { force: true }).catch(() => undefined);
    throw reason;
  } finally {
    await file.close();
  }
}

/** The same where there is no time to wait, as in a crash; the disk may still have to write it. */
export function createFileNow(path: string, content: string, mode: number): void {
  try {
    writeFileSync(path, content, { mode, flag: "wx" });
  } catch (reason) {
    if (codeOf(reason) !== "EEXIST") rmSync(path, { force: true });
    throw reason;
  }
}

/**
 * Makes a directory and those above it that are missing; one that exists stays as it is. Resolves to the uppermost one
 * that it made. Node's own `recursive` never returns where the system refuses a directory below one that exists, as
 * /proc does.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<string | undefined> {
  const make = async (): Promise<string | undefined> => {
    try {
      await nodeFs.mkdir(path, { mode });
      return path;
    } catch (reason) {
      if (codeOf(reason) === "EEXIST" && (await nodeFs.stat(path)).isDirectory()) return undefined;
      throw reason;
    }
  };
  try {
    return await make();
  } catch (reason) {
    if (codeOf(reason) !== "ENOENT" || dirname(path) === path) throw reason;
    const above = await makeDirectory(dirname(path), mode);
    const made = await make();
    return above ?? made;
  }
}

const codeOf = (reason: unknown): string | undefined => (reason as NodeJS.ErrnoException).code;

/** Where a replacement of that file is written first. */
export function temporaryPathFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
}

/** The second half of a replacement, for content that was streamed to the temporary path. */
export async function moveIntoPlace(temporary: string, path: string): Promise<void> {
  const file = await nodeFs.open(temporary, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await nodeFs.rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Best effort, see above. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await nodeFs.open(path, "r").catch(() => undefined);
  await directory?.sync().catch(() => undefined);
  await directory?.close();
}

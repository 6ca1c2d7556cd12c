/** Files that a reader, a killed process and a power cut see whole or not at all. */
import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";

/** Several files that take their names together, once all of them are complete on disk. */
export class StagedFiles {
  readonly #staged: { readonly temporary: string; readonly target: string }[] = [];

  /** Writes beside the target. */
  async add(target: string, text: string, mode: number): Promise<void> {
    const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
    this.#staged.push({ temporary, target });
    await writeNewFile(temporary, text, mode);
  }

  /** In the order in which they were added. */
  async commit(): Promise<void> {
    for (const { temporary, target } of this.#staged) await rename(temporary, target);
  }

  async discard(): Promise<void> {
    await Promise.all(this.#staged.map(({ temporary }) => rm(temporary, { force: true })));
  }
}

/** One file, in place of what had its name before. */
export async function replaceFile(target: string, text: string, mode: number): Promise<void> {
  const staged = new StagedFiles();
  try {
    await staged.add(target, text, mode);
    await staged.commit();
  } catch (reason) {
    await staged.discard();
    throw reason;
  }
}

/** Complete on disk when this resolves; fails when the name is taken. */
export async function writeNewFile(path: string, text: string, mode: number): Promise<void> {
  // "wx" never follows a link somebody placed here; 0600 holds before any byte is written.
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without it a power cut could undo renames in that directory. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

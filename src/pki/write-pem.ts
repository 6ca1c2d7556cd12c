import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../errors/error.js";

export interface PemFiles {
  readonly certFile: string;
  /** Undefined when no key was given (a CA bundle). */
  readonly keyFile: string | undefined;
}

/**
 * Writes `<dir>/<name>.crt` and, when a key is given, `<dir>/<name>.key`. A reader sees each file whole or not at all;
 * the key is readable by its owner only from its first byte on. Both are complete on disk before either takes its name.
 */
export async function writePem(
  dir: string,
  name: string,
  pem: { readonly certificatePem: string; readonly privateKeyPem?: string },
): Promise<PemFiles> {
  const certFile = join(dir, `${name}.crt`);
  const keyFile = pem.privateKeyPem === undefined ? undefined : join(dir, `${name}.key`);
  const staged: { temporary: string; target: string }[] = [];
  try {
    await mkdir(dir, { recursive: true });
    if (keyFile !== undefined) await stage(staged, keyFile, pem.privateKeyPem!, 0o600);
    await stage(staged, certFile, pem.certificatePem, 0o644);
    for (const { temporary, target } of staged) await rename(temporary, target);
    await sync(dir);
  } catch (reason) {
    await Promise.all(staged.map(({ temporary }) => rm(temporary, { force: true })));
    throw new DrawbridgeError("DB_CERT_WRITE", `${certFile} cannot be written: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
  return { certFile, keyFile };
}

async function stage(
  staged: { temporary: string; target: string }[],
  target: string,
  text: string,
  mode: number,
): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  // "wx" never follows a link somebody placed here; 0600 holds before any byte is written.
  const file = await open(temporary, "wx", 0o600);
  staged.push({ temporary, target });
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without it a power cut could undo the renames. */
async function sync(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

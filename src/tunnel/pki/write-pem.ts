import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type FileContent, replaceFiles } from "../../base/files.js";

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
  const files: FileContent[] = [{ path: certFile, content: pem.certificatePem, mode: 0o644 }];
  if (keyFile !== undefined) files.unshift({ path: keyFile, content: pem.privateKeyPem!, mode: 0o600 });
  try {
    await mkdir(dir, { recursive: true });
    await replaceFiles(files);
  } catch (reason) {
    throw writeError(certFile, reason);
  }
  return { certFile, keyFile };
}

export function writeError(path: string, reason: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_CERT_WRITE", `${path} cannot be written: ${messageOf(reason)}`, { cause: reason });
}

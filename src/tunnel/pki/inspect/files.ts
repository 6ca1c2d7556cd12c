/** The certificates and keys that stand in a file or a directory, and which key belongs to which certificate. */
import { createPublicKey, type KeyObject, type X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { certificatesIn, holdsEncryptedKey, pemBlocks, privateKeyIn } from "../pem.js";

export interface InspectedFile {
  readonly path: string;
  /** Without directory and ending: what pairs `server.crt` with `server.key`. */
  readonly stem: string;
  /** Permission bits. */
  readonly mode: number;
  readonly certificates: readonly X509Certificate[];
  readonly key: KeyObject | undefined;
  /** Why it says nothing although it looks like PEM. */
  readonly trouble: string | undefined;
}

/** Larger files are no certificates. */
const LARGEST = 1024 * 1024;

/** A file stands with what lies beside it under the same stem and with `ca.crt`, a directory with all it holds. */
export function filesAt(path: string): { asked: InspectedFile[]; beside: InspectedFile[] } {
  const status = statusOf(path);
  if (status.isDirectory()) {
    const asked = readdirSync(path)
      .filter((name) => !name.startsWith("."))
      .sort()
      .flatMap((name) => readIfPem(join(path, name)));
    return { asked, beside: [] };
  }
  const file = readIfPem(path)[0];
  if (file === undefined) throw new DrawbridgeError("DB_CERT_NOT_PEM", `${path} cannot be inspected: it is not PEM.`);
  const dir = dirname(path);
  const beside = readdirSync(dir)
    .filter((name) => name !== basename(path) && (stemOf(name) === file.stem || name === "ca.crt"))
    .flatMap((name) => readIfPem(join(dir, name)));
  return { asked: [file], beside };
}

function statusOf(path: string) {
  try {
    return statSync(path);
  } catch (reason) {
    const absent = (reason as NodeJS.ErrnoException).code === "ENOENT";
    const why = absent ? "it does not exist" : messageOf(reason);
    throw new DrawbridgeError(absent ? "DB_CERT_MISSING" : "DB_CERT_FILE", `${path} cannot be inspected: ${why}.`);
  }
}

export function stemOf(name: string): string {
  return basename(name).replace(/\.(crt|cer|pem|key)$/, "");
}

function readIfPem(path: string): InspectedFile[] {
  let text: string;
  let mode: number;
  try {
    const status = statSync(path);
    if (!status.isFile() || status.size > LARGEST) return [];
    mode = status.mode & 0o777;
    text = readFileSync(path, "utf8");
  } catch (reason) {
    return looksLikePem(path) ? [unread(path, 0, `it cannot be read (${messageOf(reason)})`)] : [];
  }
  if (!text.includes("-----BEGIN ")) return looksLikePem(path) ? [unread(path, mode, "it is not PEM")] : [];
  if (holdsEncryptedKey(text)) return [unread(path, mode, "its key is encrypted; store it without a passphrase")];
  try {
    const certificates = certificatesIn(text).map(({ certificate }) => certificate);
    if (pemBlocks(text).length < text.split(/^-----BEGIN /m).length - 1) throw new Error("a block is torn");
    return [{ path, stem: stemOf(path), mode, certificates, key: privateKeyIn(text)?.key, trouble: undefined }];
  } catch {
    return [unread(path, mode, "a block in it cannot be parsed")];
  }
}

function looksLikePem(path: string): boolean {
  return stemOf(path) !== basename(path);
}

function unread(path: string, mode: number, trouble: string): InspectedFile {
  return { path, stem: stemOf(path), mode, certificates: [], key: undefined, trouble };
}

export function belongTogether(certificate: X509Certificate, key: KeyObject): boolean {
  return createPublicKey(key).equals(certificate.publicKey);
}

/** A set on disk whose signers' keys were kept: what `issue` and `renew` work on. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { type FileContent, replaceFiles } from "../../base/files.js";
import { type Authority, loadAuthority, type PemPair } from "./issue.js";
import { MANIFEST_FILE, manifestText, type PkiManifest, readManifest } from "./manifest.js";
import { leafIn, privateKeyIn } from "./pem.js";
import { writeError } from "./write-pem.js";

/** Throws when the directory holds no set of ours. */
export async function requireManifest(dir: string): Promise<PkiManifest> {
  const manifest = await readManifest(dir);
  if (manifest !== undefined) return manifest;
  throw new DrawbridgeError("DB_PKI_MANIFEST", `${dir} holds no ${MANIFEST_FILE}, so what belongs there is not known.`);
}

export async function loadSigner(dir: string, name: string): Promise<Authority> {
  const [certificatePem, privateKeyPem] = await Promise.all(
    [`${name}.crt`, `${name}.key`].map((file) => readFile(join(dir, file), "utf8").catch(() => undefined)),
  );
  if (certificatePem === undefined || privateKeyPem === undefined) {
    throw signerKeyError(dir, name);
  }
  if (!keyBelongs(certificatePem, privateKeyPem)) {
    throw new DrawbridgeError(
      "DB_PKI_SIGNER_PAIR",
      `${join(dir, `${name}.key`)} does not belong to the certificate beside it, so nothing it signs would be trusted.`,
    );
  }
  return loadAuthority({ certificatePem, privateKeyPem });
}

export const signerKeyError = (dir: string, name: string): DrawbridgeError =>
  new DrawbridgeError(
    "DB_PKI_SIGNER_KEY",
    `The key of ${name} was not kept in ${dir}, so nothing can be signed there any more and the whole set must be made anew.`,
  );

function keyBelongs(certificatePem: string, privateKeyPem: string): boolean {
  try {
    const found = privateKeyIn(privateKeyPem);
    return found !== undefined && leafIn(certificatePem).checkPrivateKey(found.key);
  } catch {
    return false;
  }
}

export interface Changes {
  /** Signers with a new certificate. */
  readonly signers?: ReadonlyMap<string, PemPair>;
  /** Whether their keys are new as well. */
  readonly newKeys?: boolean;
  /** PEM of the bundles that change. */
  readonly bundles?: ReadonlyMap<string, string>;
  readonly leaves?: ReadonlyMap<string, PemPair>;
  readonly manifest: PkiManifest;
}

/**
 * Replaces files inside the directory, since containers that mounted it would not see another one in its place. Trust
 * goes first and the manifest last: killed in between, the next renewal finds what is left to do.
 */
export async function replaceInside(dir: string, changes: Changes): Promise<void> {
  const { signers = new Map<string, PemPair>(), newKeys = false, bundles = new Map<string, string>() } = changes;
  const files: FileContent[] = [];
  const add = (name: string, content: string) => files.push({ path: join(dir, name), content, mode: 0o600 });
  for (const [name, text] of bundles) add(`${name}.crt`, text);
  for (const [name, pair] of signers) {
    if (newKeys) add(`${name}.key`, pair.privateKeyPem);
    add(`${name}.crt`, pair.certificatePem);
  }
  for (const [name, pair] of changes.leaves ?? []) {
    add(`${name}.key`, pair.privateKeyPem);
    add(`${name}.crt`, pair.certificatePem);
  }
  add(MANIFEST_FILE, manifestText(changes.manifest));
  try {
    await replaceFiles(files);
  } catch (reason) {
    throw writeError(dir, reason);
  }
}

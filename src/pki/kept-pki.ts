/** A set on disk whose signers' keys were kept: what `issue` and `renew` work on. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError } from "../errors/error.js";
import { bundlesOf } from "./certificates-for.js";
import { StagedFiles, syncDirectory } from "./durable-files.js";
import { type Authority, loadAuthority, type PemPair } from "./issue.js";
import { manifestFile, manifestText, type PkiManifest, readManifest } from "./manifest.js";
import { writeError } from "./write-pem.js";

/** Throws when the directory holds no set of ours. */
export async function requireManifest(dir: string): Promise<PkiManifest> {
  const manifest = await readManifest(dir);
  if (manifest !== undefined) return manifest;
  throw new DrawbridgeError("DB_PKI_MANIFEST", `${dir} holds no ${manifestFile}, so what belongs there is not known.`);
}

export async function loadSigner(dir: string, name: string): Promise<Authority> {
  const [certificatePem, privateKeyPem] = await Promise.all(
    [`${name}.crt`, `${name}.key`].map((file) => readFile(join(dir, file), "utf8").catch(() => undefined)),
  );
  if (certificatePem === undefined || privateKeyPem === undefined) {
    throw new DrawbridgeError(
      "DB_PKI_SIGNER_KEY",
      `The key of ${name} was not kept in ${dir}, so nothing can be signed there any more and the whole set must be made anew.`,
    );
  }
  return loadAuthority({ certificatePem, privateKeyPem });
}

export interface Changes {
  readonly signers?: ReadonlyMap<string, Authority>;
  readonly leaves: ReadonlyMap<string, PemPair>;
  readonly manifest: PkiManifest;
}

/**
 * Replaces files inside the directory, since containers that mounted it would not see another one in its place. Trust
 * goes first and the manifest last: killed in between, the next renewal finds what is left to do.
 */
export async function replaceInside(dir: string, { signers = new Map(), leaves, manifest }: Changes): Promise<void> {
  const staged = new StagedFiles();
  const add = (name: string, text: string) => staged.add(join(dir, name), text, 0o600);
  try {
    for (const [name, { certificatePem }] of signers) await add(`${name}.crt`, certificatePem);
    if (signers.size > 0) for (const [name, text] of bundlesOf(manifest, signers)) await add(`${name}.crt`, text);
    for (const [name, pair] of leaves) {
      await add(`${name}.key`, pair.privateKeyPem);
      await add(`${name}.crt`, pair.certificatePem);
    }
    await add(manifestFile, manifestText(manifest));
    await staged.commit();
    await syncDirectory(dir);
  } catch (reason) {
    await staged.discard();
    throw writeError(dir, reason);
  }
}

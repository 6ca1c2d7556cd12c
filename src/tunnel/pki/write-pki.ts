/** Makes a whole set of certificates, and writes it to a directory, which holds either all of it or nothing of it. */
import { randomBytes } from "node:crypto";
import { cp, mkdir, readdir, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { isProcessRunning } from "../../base/file-lock.js";
import { createFile, type FileContent, makeDirectory, replaceFiles, syncDirectory } from "../../base/files.js";
import { keepOrIssue, type UpToDatePki } from "./keep.js";
import { filesOf, fileTexts, MANIFEST_FILE, type PkiManifest, readPkiManifest, validityOf } from "./manifest.js";
import { type ProfileName, type ProfileOptions, profiles } from "./profiles.js";

/** A set that exists in memory only, until writePki. */
export interface IssuedPki extends Omit<UpToDatePki, "issued"> {
  readonly manifest: Omit<PkiManifest, "signerKeysKept">;
}

export async function certificatesFor<Name extends ProfileName>(
  profile: Name,
  options: ProfileOptions[Name],
  now = new Date(),
): Promise<IssuedPki> {
  const set = profiles[profile](options);
  const nothing = { signers: new Map(), leaves: new Map() };
  const { signers, leaves, bundles } = await keepOrIssue(set, nothing, { renewBeforeMs: 0, now });
  const manifest = {
    ...{ version: 1 as const, profile, madeAt: now.toISOString(), options },
    ...set,
    signers: set.signers.map((plan) => ({ ...plan, ...validityOf(signers.get(plan.name)!.certificatePem) })),
    leaves: set.leaves.map((plan) => ({ ...plan, ...validityOf(leaves.get(plan.name)!.certificatePem) })),
  };
  return { manifest, signers, leaves, bundles };
}

export interface WriteOptions {
  /** Whether the signers' keys are written, for `issue` and `renew` later. */
  readonly keepSignerKeys?: boolean;
  /** Whether a set that exists is replaced. */
  readonly replace?: boolean;
}

/**
 * Written beside the directory first, complete on disk, then renamed. Files that are not part of a replaced set stay.
 * All files are 0600, the directory 0700.
 */
export async function writePki(dir: string, issued: IssuedPki, options: WriteOptions = {}): Promise<PkiManifest> {
  const target = await realpath(dir).catch(() => resolve(dir));
  const present = await listing(target);
  const before = await readPkiManifest(target);
  if (present.length > 0 && before === undefined) {
    const message = `${target} holds files but no ${MANIFEST_FILE}, so they are not drawbridge's to replace.`;
    throw new DrawbridgeError("DB_PKI_EXISTS", message);
  }
  if (before !== undefined && !options.replace) {
    throw new DrawbridgeError("DB_PKI_EXISTS", `${target} already holds certificates, made ${before.madeAt}.`);
  }
  const signerKeys = options.keepSignerKeys ?? false;
  const manifest = { ...issued.manifest, signerKeysKept: signerKeys };
  const strangers = before === undefined ? [] : present.filter((name) => !filesOf(before).includes(name));
  const staging = asideOf(target, "new");
  try {
    await makeDirectory(dirname(target));
    await removeAbandoned(target);
    await mkdir(staging, { mode: 0o700 });
    for (const [name, text] of fileTexts({ ...issued, signerKeys }, manifest)) {
      await createFile(join(staging, name), text, 0o600);
    }
    for (const name of strangers) {
      await cp(join(target, name), join(staging, name), { recursive: true, errorOnExist: true, force: false });
    }
    await syncDirectory(staging);
    await swap(staging, target, present.length > 0);
    await syncDirectory(dirname(target));
  } catch (reason) {
    await rm(staging, { recursive: true, force: true });
    throw writeError(target, reason);
  }
  return manifest;
}

/** The names in a directory; none when it does not exist. */
async function listing(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw writeError(dir, reason);
  }
}

/** Node cannot exchange two directories in one step; killed in between, the set is absent, never mixed. */
async function swap(staging: string, target: string, occupied: boolean): Promise<void> {
  if (!occupied) return rename(staging, target);
  const before = asideOf(target, "old");
  await rename(target, before);
  try {
    await rename(staging, target);
  } catch (reason) {
    await rename(before, target);
    throw reason;
  }
  await rm(before, { recursive: true, force: true });
}

function asideOf(target: string, what: "new" | "old"): string {
  const name = `.${basename(target)}.${what}-${process.pid}-${randomBytes(6).toString("hex")}`;
  return join(dirname(target), name);
}

/** What a killed process left holds keys; one that is still alive may be at work here. */
async function removeAbandoned(target: string): Promise<void> {
  const prefix = `.${basename(target)}.`;
  for (const name of await readdir(dirname(target))) {
    const pid = name.startsWith(prefix) && /^(?:new|old)-(\d+)-[0-9a-f]{12}$/.exec(name.slice(prefix.length))?.[1];
    if (pid && !isProcessRunning(Number(pid))) await rm(join(dirname(target), name), { recursive: true, force: true });
  }
}

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
    await makeDirectory(dir);
    await replaceFiles(files);
  } catch (reason) {
    throw writeError(certFile, reason);
  }
  return { certFile, keyFile };
}

export function writeError(path: string, reason: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_CERT_WRITE", `${path} cannot be written: ${messageOf(reason)}`, { cause: reason });
}

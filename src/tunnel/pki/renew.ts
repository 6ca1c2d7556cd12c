/** Issues again what is due, with the signers' kept keys. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { type FileContent, replaceFiles } from "../../base/files.js";
import { readCertificateSet } from "./certificate-set.js";
import { issueLeaf, makeSigner } from "./certificates-for.js";
import { type Authority, extendAuthority, loadAuthority, type PemPair } from "./issue.js";
import {
  dueAt,
  type LeafEntry,
  MANIFEST_FILE,
  manifestText,
  type PkiManifest,
  readManifest,
  type SignerEntry,
  validityOf,
} from "./manifest.js";
import { certificatesIn, isSignedBy, leafIn, privateKeyIn } from "./pem.js";
import { writeError } from "./write-pki.js";

export interface RenewOptions {
  /** Everything, due or not. */
  readonly all?: boolean;
  readonly now?: Date;
}

export interface Renewal {
  /** Issued again, with new keys. */
  readonly renewed: readonly string[];
  /** Signers with the same key and a longer life; whoever trusts them needs the new certificate before the old one ends. */
  readonly extended: readonly string[];
  /** Signers of former times that the bundles still hold. */
  readonly former: readonly string[];
  readonly manifest: PkiManifest;
}

export async function renewPki(dir: string, { all = false, now = new Date() }: RenewOptions = {}): Promise<Renewal> {
  const manifest = await requireManifest(dir);
  const present = await presentSigners(dir, manifest);
  const ofFormerSigner = await formerlySigned(dir, manifest, present);
  const due = manifest.leaves.filter(
    (entry) => all || dueAt(entry) <= now.getTime() || !fits(dir, entry) || ofFormerSigner.includes(entry.name),
  );
  const { signers, extended } = await signersFor(dir, manifest, due, now);
  const leaves = new Map<string, PemPair>();
  for (const entry of due) {
    leaves.set(entry.name, await issueLeaf(manifest, entry, signers.get(entry.signer)!, now));
  }
  const trust = await trustOf(dir, manifest, { signers: new Map([...present, ...extended]), now });
  const done = { renewed: [...leaves.keys()], extended: [...extended.keys()], former: trust.former };
  if (leaves.size + extended.size + trust.changed.size === 0) return { ...done, manifest };
  const next = withDates(manifest, extended, leaves);
  await replaceInside(dir, { signers: extended, bundles: trust.changed, leaves, manifest: next });
  return { ...done, manifest: next };
}

/** Those that have something to do, with a longer life where they need one. */
async function signersFor(dir: string, { signers: entries, backdateMs }: PkiManifest, due: LeafEntry[], now: Date) {
  const signers = new Map<string, Authority>();
  const extended = new Map<string, Authority>();
  for (const entry of entries) {
    const isShort = endsTooSoon(entry, due, now);
    if (!isShort && !due.some(({ signer }) => signer === entry.name)) continue;
    const authority = await loadSigner(dir, entry.name);
    if (isShort) extended.set(entry.name, await extendAuthority(authority, { ...entry, backdateMs, now }));
    signers.set(entry.name, extended.get(entry.name) ?? authority);
  }
  return { signers, extended };
}

/** A pair that was half replaced, lost or damaged is due whatever its dates say. */
function fits(dir: string, { name }: LeafEntry): boolean {
  try {
    readCertificateSet({ certFile: join(dir, `${name}.crt`), keyFile: join(dir, `${name}.key`) });
    return true;
  } catch {
    return false;
  }
}

/** Due itself, or about to cut short what it is asked to sign. */
function endsTooSoon(signer: SignerEntry, leaves: readonly LeafEntry[], now: Date): boolean {
  if (dueAt(signer) <= now.getTime()) return true;
  const end = Date.parse(signer.notAfter);
  return leaves.some((leaf) => leaf.signer === signer.name && now.getTime() + leaf.validForMs > end);
}

/** The record with the dates of what was just made. */
export function withDates(
  manifest: PkiManifest,
  signers: ReadonlyMap<string, PemPair>,
  leaves: ReadonlyMap<string, PemPair>,
): PkiManifest {
  const dated = <Entry extends { readonly name: string }>(entry: Entry, made: PemPair | undefined) =>
    made === undefined ? entry : { ...entry, ...validityOf(made.certificatePem) };
  return {
    ...manifest,
    signers: manifest.signers.map((entry) => dated(entry, signers.get(entry.name))),
    leaves: manifest.leaves.map((entry) => dated(entry, leaves.get(entry.name))),
  };
}

export interface SignerChange {
  /** Signers with a new key. */
  readonly replaced: readonly string[];
  /** Signers of former times that the bundles still hold. */
  readonly former: readonly string[];
  /** Signers of former times that the bundles held until now. */
  readonly dropped: readonly string[];
  readonly manifest: PkiManifest;
}

export async function replaceSigners(dir: string, now = new Date()): Promise<SignerChange> {
  const manifest = await requireManifest(dir);
  if (manifest.bundles.length === 0) {
    throw rotationError(
      `${dir} holds a ${manifest.profile} set, in which the signer's one file is also what is trusted: make it anew with drawbridge pki init --replace`,
    );
  }
  if (!manifest.signerKeysKept) throw signerKeyError(dir, manifest.signers[0]!.name);
  await refuseStrays(dir, manifest, "change signers again");
  const signers = new Map<string, Authority>();
  for (const entry of manifest.signers) signers.set(entry.name, await makeSigner(manifest, entry, now));
  const { changed, former } = await trustOf(dir, manifest, { signers, now });
  const next = withDates(manifest, signers, new Map());
  await replaceInside(dir, { signers, newKeys: true, bundles: changed, manifest: next });
  return { replaced: [...signers.keys()], former, dropped: [], manifest: next };
}

export async function dropFormerSigners(dir: string, now = new Date()): Promise<SignerChange> {
  const manifest = await requireManifest(dir);
  await refuseStrays(dir, manifest, "drop former signers");
  const signers = await presentSigners(dir, manifest);
  const { changed, former } = await trustOf(dir, manifest, { signers, drop: true, now });
  if (changed.size > 0) await replaceInside(dir, { bundles: changed, manifest });
  return { replaced: [], former: [], dropped: former, manifest };
}

async function refuseStrays(dir: string, manifest: PkiManifest, purpose: string): Promise<void> {
  const strays = await formerlySigned(dir, manifest, await presentSigners(dir, manifest));
  if (strays.length === 0) return;
  const list = strays.join(", ");
  throw rotationError(`${dir} still has certificates of former signers (${list}): renew them before you ${purpose}`);
}

const rotationError = (sentence: string) => new DrawbridgeError("DB_PKI_ROTATION", `${sentence}.`);

/** Certificates of signers, by name. */
export type Signers = ReadonlyMap<string, { readonly certificatePem: string }>;

export interface Trust {
  /** PEM by name of the bundle, only of those that differ from what is on disk. */
  readonly changed: ReadonlyMap<string, string>;
  /** Names and ends of the former signers: those that stay, or with `drop` those that go. */
  readonly former: readonly string[];
}

export interface TrustOptions {
  readonly signers: Signers;
  readonly drop?: boolean;
  readonly now: Date;
}

export async function trustOf(dir: string, { bundles }: PkiManifest, options: TrustOptions): Promise<Trust> {
  const { signers, drop = false, now } = options;
  const changed = new Map<string, string>();
  const former = new Set<string>();
  for (const { name, signers: members } of bundles) {
    const onDisk = await textOf(dir, name);
    const present = members.map((member) => signers.get(member)?.certificatePem ?? "").join("");
    const others = othersThan(present, onDisk, now);
    for (const { label } of others) former.add(label);
    const wanted = drop ? present : present + others.map(({ pem }) => pem).join("");
    if (wanted !== onDisk) changed.set(name, wanted);
  }
  return { changed, former: [...former] };
}

/** By key, since a signer that was extended is the same signer; what has ended vouches for nobody any more. */
function othersThan(present: string, onDisk: string, now: Date): { pem: string; label: string }[] {
  const keys = readable(present).map(({ certificate }) => certificate.publicKey);
  return readable(onDisk)
    .filter(({ certificate }) => !keys.some((key) => key.equals(certificate.publicKey)))
    .filter(({ certificate }) => Date.parse(certificate.validTo) > now.getTime())
    .map(({ pem, certificate: { subject, validTo } }) => ({ pem, label: labelOf(subject, validTo) }));
}

const labelOf = (subject: string, validTo: string): string =>
  `${/^CN=(.*)$/m.exec(subject)?.[1] ?? subject} (until ${new Date(validTo).toISOString()})`;

/** The signers' certificates as they lie in the directory; one that is missing or damaged is left out. */
export async function presentSigners(dir: string, { signers }: PkiManifest): Promise<Signers> {
  const present = new Map<string, { certificatePem: string }>();
  for (const { name } of signers) {
    const certificatePem = await textOf(dir, name);
    if (readable(certificatePem).length > 0) present.set(name, { certificatePem });
  }
  return present;
}

/** Names of the certificates that their signer, as it is now, did not sign. */
export async function formerlySigned(dir: string, { leaves }: PkiManifest, signers: Signers): Promise<string[]> {
  const stray: string[] = [];
  for (const { name, signer } of leaves) {
    const [leaf] = readable(await textOf(dir, name));
    const authority = signers.get(signer);
    // What is missing or damaged is somebody else's finding.
    if (leaf === undefined || authority === undefined) continue;
    if (!isSignedBy(leaf.certificate, leafIn(authority.certificatePem))) stray.push(name);
  }
  return stray;
}

const textOf = (dir: string, name: string): Promise<string> =>
  readFile(join(dir, `${name}.crt`), "utf8").catch(() => "");

/** A file that was damaged is written anew; there is nothing in it to keep. */
function readable(text: string): ReturnType<typeof certificatesIn> {
  try {
    return certificatesIn(text);
  } catch {
    return [];
  }
}

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

/**
 * Renews a set in a directory whose signers' keys were kept.
 *
 * The signers themselves get new keys in three steps, so that nobody meets a certificate whose signer it does not know:
 *
 *   1. replaceSigners      new signers; bundles hold the new and the former ones. Hand the bundles out.
 *   2. renewPki            issues again whatever a former signer signed. Hand the certificates out.
 *   3. dropFormerSigners   bundles hold the new signers only. Hand the bundles out.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { replaceFiles } from "../../base/files.js";
import { readCertificateSet } from "./certificate-set.js";
import {
  type Authority,
  createAuthority,
  extendAuthority,
  issueCertificate,
  loadAuthority,
  type PemPair,
} from "./issue.js";
import { pairCertificate, requestOf } from "./keep.js";
import type { LeafEntry, PkiManifest, SetFiles, SignerEntry } from "./manifest.js";
import { dueAt, fileTexts, MANIFEST_FILE, readPkiManifest, validityOf } from "./manifest.js";
import { isSignedBy, leafIn, readableCertificates } from "./pem.js";
import { writeError } from "./write-pki.js";

export interface RenewOptions {
  /** Whether everything is issued again, due or not. */
  readonly all?: boolean;
  readonly now?: Date;
}

/** Issues again what is due, with the signers' kept keys. */
export async function renewPki(dir: string, { all = false, now = new Date() }: RenewOptions = {}) {
  const manifest = await requireManifest(dir);
  const present = await presentSigners(dir, manifest);
  const ofFormerSigner = await formerlySigned(dir, manifest, present);
  const due = manifest.leaves.filter(
    (entry) => all || dueAt(entry) <= now.getTime() || !fits(dir, entry) || ofFormerSigner.includes(entry.name),
  );
  const { signers, extended } = await signersFor(dir, manifest, due, now);
  const leaves = new Map<string, PemPair>();
  for (const entry of due) {
    leaves.set(entry.name, await issueCertificate(signers.get(entry.signer)!, requestOf(manifest, entry, now)));
  }
  const { bundles, former } = await trustIn(dir, manifest, { signers: new Map([...present, ...extended]), now });
  const isChanged = leaves.size + extended.size + bundles.size > 0;
  const next = isChanged ? await replaceInside(dir, manifest, { signers: extended, bundles, leaves }) : manifest;
  return {
    /** Names of the certificates that were issued again, with new keys. */
    renewed: [...leaves.keys()],
    /** Signers with the same key and a longer life; whoever trusts them needs the new certificate before the old one ends. */
    extended: [...extended.keys()],
    /** Former signers that the bundles still hold. */
    former,
    manifest: next,
  };
}

/** The signers that have something to do, with a longer life where they need one. */
async function signersFor(dir: string, manifest: PkiManifest, due: readonly LeafEntry[], now: Date) {
  const signers = new Map<string, Authority>();
  const extended = new Map<string, Authority>();
  for (const entry of manifest.signers) {
    const isShort = endsTooSoon(entry, due, now);
    if (!isShort && !due.some(({ signer }) => signer === entry.name)) continue;
    const authority = await loadSigner(dir, entry.name);
    if (isShort) extended.set(entry.name, await extendAuthority(authority, requestOf(manifest, entry, now)));
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

/** Whether the signer is due itself, or about to cut short what it is asked to sign. */
function endsTooSoon(signer: SignerEntry, leaves: readonly LeafEntry[], now: Date): boolean {
  if (dueAt(signer) <= now.getTime()) return true;
  const end = Date.parse(signer.notAfter);
  return leaves.some((leaf) => leaf.signer === signer.name && now.getTime() + leaf.validForMs > end);
}

/** `replaced` are signers with a new key, `former` those that the bundles hold besides. */
export async function replaceSigners(dir: string, now = new Date()) {
  const manifest = await requireManifest(dir);
  if (manifest.bundles.length === 0) {
    throw rotationError(
      `${dir} holds a ${manifest.profile} set, in which the signer's one file is also what is trusted: make it again with drawbridge pki init --replace`,
    );
  }
  if (!manifest.signerKeysKept) throw signerKeyError(dir, manifest.signers[0]!.name);
  await refuseStrays(dir, manifest, "change signers again");
  const signers = new Map<string, Authority>();
  for (const entry of manifest.signers) signers.set(entry.name, await createAuthority(requestOf(manifest, entry, now)));
  const { bundles, former } = await trustIn(dir, manifest, { signers, now });
  const next = await replaceInside(dir, manifest, { signers, signerKeys: true, bundles });
  return { replaced: [...signers.keys()], former, dropped: [], manifest: next };
}

/** `dropped` are the former signers that the bundles held until now. */
export async function dropFormerSigners(dir: string, now = new Date()) {
  const manifest = await requireManifest(dir);
  await refuseStrays(dir, manifest, "drop former signers");
  const signers = await presentSigners(dir, manifest);
  const { bundles, former } = await trustIn(dir, manifest, { signers, drop: true, now });
  if (bundles.size > 0) await replaceInside(dir, manifest, { bundles });
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
type Signers = ReadonlyMap<string, Pick<PemPair, "certificatePem">>;

interface TrustOptions {
  readonly signers: Signers;
  /** Whether former signers go. */
  readonly drop?: boolean;
  readonly now: Date;
}

/**
 * The bundles that differ from what is on disk, and the former signers that stay in them or, with `drop`, go. Bundles hold
 * the present signers, and the former ones until somebody says that they may go. Former signers are recorded nowhere
 * else: the bundle on disk is the record of what is trusted.
 */
async function trustIn(dir: string, manifest: PkiManifest, { signers, drop = false, now }: TrustOptions) {
  const bundles = new Map<string, string>();
  const former = new Set<string>();
  for (const { name, signers: members } of manifest.bundles) {
    const onDisk = await textOf(dir, name);
    const present = members.map((member) => signers.get(member)?.certificatePem ?? "").join("");
    const others = othersThan(present, onDisk, now);
    for (const { label } of others) former.add(label);
    const wanted = drop ? present : present + others.map(({ pem }) => pem).join("");
    if (wanted !== onDisk) bundles.set(name, wanted);
  }
  return { bundles, former: [...former] };
}

/** Compared by key, since a signer that was extended is the same signer; what has ended vouches for nobody any more. */
function othersThan(present: string, onDisk: string, now: Date): { pem: string; label: string }[] {
  const keys = readableCertificates(present).map(({ certificate }) => certificate.publicKey);
  return readableCertificates(onDisk)
    .filter(({ certificate }) => !keys.some((key) => key.equals(certificate.publicKey)))
    .filter(({ certificate }) => Date.parse(certificate.validTo) > now.getTime())
    .map(({ pem, certificate: { subject, validTo } }) => {
      const name = /^CN=(.*)$/m.exec(subject)?.[1] ?? subject;
      return { pem, label: `${name} (until ${new Date(validTo).toISOString()})` };
    });
}

/** The signers' certificates as they are in the directory; one that is missing or damaged is left out. */
async function presentSigners(dir: string, { signers }: PkiManifest): Promise<Signers> {
  const present = new Map<string, { certificatePem: string }>();
  for (const { name } of signers) {
    const certificatePem = await textOf(dir, name);
    if (readableCertificates(certificatePem).length > 0) present.set(name, { certificatePem });
  }
  return present;
}

/** Names of the certificates that their signer, as it is now, did not sign. */
async function formerlySigned(dir: string, { leaves }: PkiManifest, signers: Signers): Promise<string[]> {
  const stray: string[] = [];
  for (const { name, signer } of leaves) {
    const [leaf] = readableCertificates(await textOf(dir, name));
    const authority = signers.get(signer);
    // Another check reports what is missing or damaged.
    if (leaf === undefined || authority === undefined) continue;
    if (!isSignedBy(leaf.certificate, leafIn(authority.certificatePem))) stray.push(name);
  }
  return stray;
}

const textOf = (dir: string, name: string): Promise<string> =>
  readFile(join(dir, `${name}.crt`), "utf8").catch(() => "");

/** Throws DB_PKI_MANIFEST when the directory holds no set of ours. */
export async function requireManifest(dir: string): Promise<PkiManifest> {
  const manifest = await readPkiManifest(dir);
  if (manifest !== undefined) return manifest;
  throw new DrawbridgeError("DB_PKI_MANIFEST", `${dir} holds no ${MANIFEST_FILE}, so what belongs there is not known.`);
}

export async function loadSigner(dir: string, name: string): Promise<Authority> {
  const [certificatePem, privateKeyPem] = await Promise.all(
    [`${name}.crt`, `${name}.key`].map((file) => readFile(join(dir, file), "utf8").catch(() => undefined)),
  );
  if (certificatePem === undefined || privateKeyPem === undefined) throw signerKeyError(dir, name);
  if (typeof pairCertificate({ certificatePem, privateKeyPem }) === "string") {
    throw new DrawbridgeError(
      "DB_PKI_SIGNER_PAIR",
      `${join(dir, `${name}.key`)} does not belong to the certificate beside it, so nothing it signs would be trusted.`,
    );
  }
  return loadAuthority({ certificatePem, privateKeyPem });
}

const signerKeyError = (dir: string, name: string): DrawbridgeError =>
  new DrawbridgeError(
    "DB_PKI_SIGNER_KEY",
    `The key of ${name} was not kept in ${dir}, so nothing can be signed there any more and the whole set must be made again.`,
  );

/**
 * Replaces files inside the directory, since containers that mounted it would not see another one in its place. Killed in
 * between, the next renewal finds what is left to do. Returns the manifest with the dates of what was just made.
 */
export async function replaceInside(dir: string, before: PkiManifest, changed: SetFiles): Promise<PkiManifest> {
  const { leaves, signers } = changed;
  const dated = <Entry extends { readonly name: string }>(entry: Entry, made: PemPair | undefined) =>
    made === undefined ? entry : { ...entry, ...validityOf(made.certificatePem) };
  const manifest = {
    ...before,
    signers: before.signers.map((entry) => dated(entry, signers?.get(entry.name))),
    leaves: before.leaves.map((entry) => dated(entry, leaves?.get(entry.name))),
  };
  try {
    const texts = fileTexts(changed, manifest);
    await replaceFiles(texts.map(([name, content]) => ({ path: join(dir, name), content, mode: 0o600 })));
  } catch (reason) {
    throw writeError(dir, reason);
  }
  return manifest;
}

/** Issues again what is due, with the signers' kept keys. */
import { join } from "node:path";
import { readCertificateSet } from "./certificate-set.js";
import { issueLeaf } from "./certificates-for.js";
import { type Authority, extendAuthority, type PemPair } from "./issue.js";
import { loadSigner, replaceInside, requireManifest } from "./kept-pki.js";
import { type LeafEntry, type PkiManifest, type SignerEntry, validityOf } from "./manifest.js";
import { formerlySigned, presentSigners, trustOf } from "./renew-trust.js";
import { dueAt } from "./renewal.js";

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

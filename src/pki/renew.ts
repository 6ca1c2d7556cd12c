/** Issues again what is due, with the signers' kept keys. */
import { join } from "node:path";
import { readCertificateSet } from "./certificate-set.js";
import { issueLeaf } from "./certificates-for.js";
import { type Authority, extendAuthority, type PemPair } from "./issue.js";
import { loadSigner, replaceInside, requireManifest } from "./kept-pki.js";
import { type LeafEntry, type PkiManifest, type SignerEntry, validityOf } from "./manifest.js";
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
  readonly manifest: PkiManifest;
}

export async function renewPki(dir: string, { all = false, now = new Date() }: RenewOptions = {}): Promise<Renewal> {
  const manifest = await requireManifest(dir);
  const due = manifest.leaves.filter((entry) => all || dueAt(entry) <= now.getTime() || !fits(dir, entry));
  const signersDue = manifest.signers.some((entry) => dueAt(entry) <= now.getTime());
  if (due.length === 0 && !signersDue) return { renewed: [], extended: [], manifest };

  const signers = new Map<string, Authority>();
  const extended: string[] = [];
  for (const entry of manifest.signers) {
    const authority = await loadSigner(dir, entry.name);
    const isShort = endsTooSoon(entry, due, now);
    if (isShort) extended.push(entry.name);
    const { backdateMs } = manifest;
    signers.set(entry.name, isShort ? await extendAuthority(authority, { ...entry, backdateMs, now }) : authority);
  }
  const leaves = new Map<string, PemPair>();
  for (const entry of due) {
    leaves.set(entry.name, await issueLeaf(manifest, entry, signers.get(entry.signer)!, now));
  }
  const next = withDates(manifest, signers, leaves);
  await replaceInside(dir, { ...(extended.length > 0 && { signers }), leaves, manifest: next });
  return { renewed: [...leaves.keys()], extended, manifest: next };
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

function withDates(
  manifest: PkiManifest,
  signers: ReadonlyMap<string, Authority>,
  leaves: ReadonlyMap<string, PemPair>,
): PkiManifest {
  const dated = <Entry extends { readonly name: string }>(
    entry: Entry,
    made: { certificatePem: string } | undefined,
  ) => (made === undefined ? entry : { ...entry, ...validityOf(made.certificatePem) });
  return {
    ...manifest,
    signers: manifest.signers.map((entry) => dated(entry, signers.get(entry.name))),
    leaves: manifest.leaves.map((entry) => dated(entry, leaves.get(entry.name))),
  };
}

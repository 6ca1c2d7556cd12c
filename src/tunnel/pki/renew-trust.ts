/**
 * What the bundles of a set shall hold: its present signers, and those of former times until somebody says that they may
 * go. Former signers are written down nowhere else: the bundle on disk is the record of what is trusted.
 */
import type { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PkiManifest } from "./manifest.js";
import { certificatesIn, leafIn } from "./pem.js";

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

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
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

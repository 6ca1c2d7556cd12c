/**
 * Renews or extends a set in a directory whose signers' keys were kept.
 *
 * The signers themselves get new keys in three steps, so that nobody meets a certificate whose signer it does not know:
 *
 *   1. replaceSigners      new signers; bundles hold the new and the former ones. Hand the bundles out.
 *   2. renewPki            issues again whatever a former signer signed. Hand the certificates out.
 *   3. dropFormerSigners   bundles hold the new signers only. Hand the bundles out.
 */
import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { replaceFiles } from "../../base/files.js";
import {
  type Authority,
  createAuthority,
  extendAuthority,
  issueCertificate,
  loadAuthority,
  type PemPair,
} from "./issue.js";
import { pairCertificate, requestOf } from "./keep.js";
import {
  dueAt,
  fileTexts,
  type LeafEntry,
  type PkiManifest,
  requireManifest,
  type SetFiles,
  validityOf,
} from "./manifest.js";
import { isSignedBy, joinedPem, readableCertificates } from "./pem.js";
import { type LeafPlan, nodeAgent } from "./profiles.js";
import { issueError } from "./request.js";
import { writeError } from "./write-pki.js";

export interface RenewOptions {
  /** Whether everything is issued again, due or not. */
  readonly all?: boolean;
  readonly now?: Date;
}

/** What a step changed, by name. */
export interface Renewal {
  /** Certificates that were issued again, with new keys. */
  readonly renewed: readonly string[];
  /** Signers with the same key and a longer life; whoever trusts them needs the new certificate before the old one ends. */
  readonly extended: readonly string[];
  /** Signers with a new key. */
  readonly replaced: readonly string[];
  /** Former signers that the bundles still hold. */
  readonly former: readonly string[];
  /** Former signers that the bundles held until now. */
  readonly dropped: readonly string[];
  readonly manifest: PkiManifest;
}

const NOTHING = { renewed: [], extended: [], replaced: [], former: [], dropped: [] } as const;

/** Issues again what is due, with the signers' kept keys. */
export async function renewPki(dir: string, { all = false, now = new Date() }: RenewOptions = {}): Promise<Renewal> {
  const manifest = await requireManifest(dir);
  const strays = formerlySigned(dir, manifest);
  // A pair that was half replaced, lost or damaged is due whatever its dates say.
  const due = manifest.leaves.filter(
    (entry) =>
      all ||
      dueAt(entry) <= now.getTime() ||
      strays.includes(entry.name) ||
      typeof pairCertificate(readPair(dir, entry.name)) === "string",
  );
  const leaves = new Map<string, PemPair>();
  const extended = new Map<string, Authority>();
  for (const entry of manifest.signers) {
    const asked = due.filter(({ signer }) => signer === entry.name);
    const end = Date.parse(entry.notAfter);
    // It is due itself, or about to cut short what it is asked to sign.
    const isShort = dueAt(entry) <= now.getTime() || asked.some(({ validForMs }) => now.getTime() + validForMs > end);
    if (!isShort && asked.length === 0) continue;
    let authority = await loadSigner(dir, entry.name);
    if (isShort) {
      authority = await extendAuthority(authority, requestOf(manifest, entry, now));
      extended.set(entry.name, authority);
    }
    for (const leaf of asked) leaves.set(leaf.name, await issueCertificate(authority, requestOf(manifest, leaf, now)));
  }
  const { bundles, former } = trustIn(dir, manifest, { signers: extended, now });
  const isChanged = leaves.size + extended.size + bundles.size > 0;
  const next = isChanged ? await replaceInside(dir, manifest, { signers: extended, bundles, leaves }) : manifest;
  const renewed = due.map(({ name }) => name);
  return { ...NOTHING, renewed, extended: [...extended.keys()], former, manifest: next };
}

export async function replaceSigners(dir: string, now = new Date()): Promise<Renewal> {
  const manifest = await requireManifest(dir);
  if (manifest.bundles.length === 0) {
    throw rotationError(
      `${dir} holds a ${manifest.profile} set, in which the signer's one file is also what is trusted: make it again with drawbridge pki init --replace`,
    );
  }
  if (!manifest.signerKeysKept) throw signerKeyError(dir, manifest.signers[0]!.name);
  refuseStrays(dir, manifest, "change signers again");
  const signers = new Map<string, Authority>();
  for (const entry of manifest.signers) signers.set(entry.name, await createAuthority(requestOf(manifest, entry, now)));
  const { bundles, former } = trustIn(dir, manifest, { signers, now });
  const next = await replaceInside(dir, manifest, { signers, signerKeys: true, bundles });
  return { ...NOTHING, replaced: [...signers.keys()], former, manifest: next };
}

export async function dropFormerSigners(dir: string, now = new Date()): Promise<Renewal> {
  const manifest = await requireManifest(dir);
  refuseStrays(dir, manifest, "drop former signers");
  const { bundles, former } = trustIn(dir, manifest, { drop: true, now });
  if (bundles.size > 0) await replaceInside(dir, manifest, { bundles });
  return { ...NOTHING, dropped: former, manifest };
}

function refuseStrays(dir: string, manifest: PkiManifest, purpose: string): void {
  const strays = formerlySigned(dir, manifest).join(", ");
  if (strays === "") return;
  throw rotationError(`${dir} still has certificates of former signers (${strays}): renew them before you ${purpose}`);
}

const rotationError = (sentence: string) => new DrawbridgeError("DB_PKI_ROTATION", `${sentence}.`);

interface TrustOptions {
  /** Signers that are about to take the place of those on disk. */
  readonly signers?: ReadonlyMap<string, PemPair>;
  /** Whether former signers go. */
  readonly drop?: boolean;
  readonly now: Date;
}

/**
 * The bundles that differ from what is on disk, and the former signers that stay in them or, with `drop`, go. Bundles hold
 * the present signers, and the former ones until somebody says that they may go. Former signers are recorded nowhere
 * else: the bundle on disk is the record of what is trusted.
 */
function trustIn(dir: string, manifest: PkiManifest, { signers, drop = false, now }: TrustOptions) {
  const bundles = new Map<string, string>();
  const former = new Set<string>();
  for (const { name, signers: members } of manifest.bundles) {
    const onDisk = read(dir, `${name}.crt`);
    const texts = members.map((member) => signers?.get(member)?.certificatePem ?? read(dir, `${member}.crt`));
    // A signer's file that is missing or damaged is left out.
    const present = texts.flatMap((text) => readableCertificates(text));
    const others = readableCertificates(onDisk).filter(
      ({ certificate: { publicKey, validTo } }) =>
        // By key, since a signer that was extended is the same signer; what has ended vouches for nobody any more.
        !present.some(({ certificate }) => certificate.publicKey.equals(publicKey)) &&
        Date.parse(validTo) > now.getTime(),
    );
    for (const { certificate } of others) former.add(labelOf(certificate));
    const wanted = joinedPem([...present, ...(drop ? [] : others)]);
    if (wanted !== onDisk) bundles.set(name, wanted);
  }
  return { bundles, former: [...former] };
}

function labelOf({ subject, validTo }: X509Certificate): string {
  return `${/^CN=(.*)$/m.exec(subject)?.[1] ?? subject} (until ${new Date(validTo).toISOString()})`;
}

/** Names of the certificates that their signer, as it is now, did not sign. */
function formerlySigned(dir: string, { leaves }: PkiManifest): string[] {
  return leaves
    .filter(({ name, signer }) => {
      const [leaf, authority] = [name, signer].map((each) => readableCertificates(read(dir, `${each}.crt`))[0]);
      // Another check reports what is missing or damaged.
      if (leaf === undefined || authority === undefined) return false;
      return !isSignedBy(leaf.certificate, authority.certificate);
    })
    .map(({ name }) => name);
}

/** Empty when there is no such file. */
function read(dir: string, name: string): string {
  try {
    return readFileSync(join(dir, name), "utf8");
  } catch {
    return "";
  }
}

const readPair = (dir: string, name: string): PemPair => ({
  certificatePem: read(dir, `${name}.crt`),
  privateKeyPem: read(dir, `${name}.key`),
});

async function loadSigner(dir: string, name: string): Promise<Authority> {
  const pair = readPair(dir, name);
  if (pair.certificatePem === "" || pair.privateKeyPem === "") throw signerKeyError(dir, name);
  if (typeof pairCertificate(pair) !== "string") return loadAuthority(pair);
  throw new DrawbridgeError(
    "DB_PKI_SIGNER_PAIR",
    `${join(dir, `${name}.key`)} does not belong to the certificate beside it, so nothing it signs would be trusted.`,
  );
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
async function replaceInside(dir: string, before: PkiManifest, changed: SetFiles): Promise<PkiManifest> {
  const { leaves, signers } = changed;
  const dated = <Entry extends { readonly name: string }>(entry: Entry, made: PemPair | undefined) =>
    made === undefined ? entry : { ...entry, ...validityOf(made.certificatePem) };
  const manifest = {
    ...before,
    signers: before.signers.map((entry) => dated(entry, signers?.get(entry.name))),
    leaves: before.leaves.map((entry) => dated(entry, leaves?.get(entry.name))),
  };
  const texts = [...fileTexts(changed, manifest)];
  try {
    await replaceFiles(texts.map(([name, content]) => ({ path: join(dir, name), content, mode: 0o600, keep: true })));
  } catch (reason) {
    throw writeError(dir, reason);
  }
  return manifest;
}

/** Fields that are left out are as in the rest of the set. */
export type AdditionRequest =
  /** An agent's certificate for one node. */
  | ({ readonly node: string } & Common)
  | (Pick<LeafPlan, "name" | "use" | "commonName" | "dnsNames" | "ipAddresses"> & {
      readonly node?: undefined;
      /** Required when the set has several signers. */
      readonly signer?: string;
    } & Common);

interface Common {
  readonly validForMs?: number;
  /** Whether a certificate of that name is replaced. */
  readonly replace?: boolean;
  readonly now?: Date;
}

export async function addCertificate(
  dir: string,
  request: AdditionRequest,
): Promise<{ added: LeafEntry; manifest: PkiManifest }> {
  const manifest = await requireManifest(dir);
  const plan = planOf(manifest, request);
  const present = manifest.leaves.some(({ name }) => name === plan.name);
  const taken = [...manifest.signers, ...manifest.bundles].some(({ name }) => name === plan.name);
  if (taken || (present && !request.replace)) {
    throw new DrawbridgeError("DB_PKI_EXISTS", `${dir} already holds a certificate named ${plan.name}.`);
  }
  const signer = await loadSigner(dir, plan.signer);
  const pair = await issueCertificate(signer, requestOf(manifest, plan, request.now ?? new Date()));
  const added = { ...plan, ...validityOf(pair.certificatePem) };
  const others = manifest.leaves.filter(({ name }) => name !== plan.name);
  const files = { leaves: new Map([[plan.name, pair]]) };
  return { added, manifest: await replaceInside(dir, { ...manifest, leaves: [...others, added] }, files) };
}

function planOf(manifest: PkiManifest, request: AdditionRequest): LeafPlan {
  const model = manifest.leaves[0]!;
  const common = { organizations: model.organizations, validForMs: request.validForMs ?? model.validForMs };
  if (request.node !== undefined) {
    if (manifest.profile !== "bootstrap")
      throw issueError("certificates for single nodes belong to the bootstrap profile");
    return nodeAgent(request.node, common);
  }
  const { name, use, commonName, dnsNames, ipAddresses } = request;
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
    throw issueError(`"${name}" cannot name a file here; use lower-case letters, digits, - and .`);
  }
  const signers = manifest.signers.map((each) => each.name);
  const signer = request.signer ?? (signers.length === 1 ? signers[0] : undefined);
  if (signer === undefined || !signers.includes(signer))
    throw issueError(`say which signer shall sign: ${signers.join(", ")}`);
  return { name, signer, use, commonName, dnsNames, ipAddresses, ...common };
}

/** Makes a whole set of certificates in memory. */
import { createPrivateKey } from "node:crypto";
import { type Authority, createAuthority, issueCertificate, type PemPair } from "./issue.js";
import type { LeafPlan, ProfileSet, SignerPlan } from "./profiles.js";
import { type ProfileName, type ProfileOptions, profileSet } from "./profiles.js";
import { issueError } from "./request.js";

/** A set that exists in memory only, until writePki. */
export interface IssuedPki {
  readonly profile: ProfileName;
  readonly options: ProfileOptions[ProfileName];
  readonly set: ProfileSet;
  readonly madeAt: Date;
  /** By name. */
  readonly signers: ReadonlyMap<string, Authority>;
  readonly leaves: ReadonlyMap<string, PemPair>;
  /** PEM of the signers in each bundle. */
  readonly bundles: ReadonlyMap<string, string>;
}

export async function certificatesFor<Name extends ProfileName>(
  profile: Name,
  options: ProfileOptions[Name],
  now = new Date(),
): Promise<IssuedPki> {
  const set = profileSet(profile, options);
  const signers = new Map<string, Authority>();
  for (const plan of set.signers) signers.set(plan.name, await makeSigner(set, plan, now));
  const leaves = new Map<string, PemPair>();
  for (const plan of set.leaves) {
    if (leaves.has(plan.name)) throw issueError(`"${plan.name}" would be issued twice; name each node once`);
    leaves.set(plan.name, await issueLeaf(set, plan, signers.get(plan.signer)!, now));
  }
  return { profile, options, set, madeAt: now, signers, leaves, bundles: bundlesOf(set, signers) };
}

/** What all certificates of a set have in common. */
export type CertificateForm = Pick<ProfileSet, "key" | "keyFormat" | "backdateMs">;

/** A signer with a new key, as a set wants it. */
export async function makeSigner(form: CertificateForm, plan: SignerPlan, now: Date): Promise<Authority> {
  const { key, backdateMs } = form;
  return inFormat(form, await createAuthority({ ...plan, key, backdateMs, now }));
}

/** One certificate as a set wants it. */
export async function issueLeaf(
  form: CertificateForm,
  { use, ...plan }: LeafPlan,
  signer: Authority,
  now: Date,
): Promise<PemPair> {
  const { key, backdateMs } = form;
  return inFormat(form, await issueCertificate(signer, { ...plan, use: use, key, backdateMs, now }));
}

export function bundlesOf(
  { bundles }: Pick<ProfileSet, "bundles">,
  signers: ReadonlyMap<string, { readonly certificatePem: string }>,
): ReadonlyMap<string, string> {
  return new Map(
    bundles.map(({ name, signers: members }) => [
      name,
      members.map((member) => signers.get(member)!.certificatePem).join(""),
    ]),
  );
}

/** The key as the set wants its files. */
export function inFormat<Pair extends PemPair>({ keyFormat }: Pick<ProfileSet, "keyFormat">, pair: Pair): Pair {
  if (keyFormat === "pkcs8") return pair;
  const privateKeyPem = createPrivateKey(pair.privateKeyPem).export({ type: keyFormat, format: "pem" }).toString();
  return { ...pair, privateKeyPem };
}

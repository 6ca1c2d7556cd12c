/**
 * Brings a set that somebody keeps (for example in Secrets) up to date in memory: what is good stays as it is, the rest is
 * issued again, and the result lists what was issued and why.
 */
import type { X509Certificate } from "node:crypto";
import { type CertificateFacts, factsOf } from "./inspect/facts.js";
import type { Authority, PemPair } from "./issue.js";
import { createAuthority, extendAuthority, issueCertificate, loadAuthority } from "./issue.js";
import { certificatesIn, isSignedBy, joinedPem, leafIn, privateKeyIn, readableCertificates } from "./pem.js";
import type { LeafPlan, ProfileSet, SignerPlan } from "./profiles.js";
import { CLIENT_AUTH, extendedKeyUsages, issueError, SERVER_AUTH } from "./request.js";

/** A signer as it was found: its first certificate is the one that signs, the others are still trusted. */
export interface KeptSigner extends PemPair {
  /** The signer that is trusted already and signs nothing yet. */
  readonly next?: PemPair | undefined;
}

export interface KeptPki {
  readonly signers: ReadonlyMap<string, KeptSigner>;
  readonly leaves: ReadonlyMap<string, PemPair>;
}

export interface UpToDatePki extends KeptPki {
  /** PEM of every certificate that is trusted together. */
  readonly bundles: ReadonlyMap<string, string>;
  readonly issued: readonly { readonly name: string; readonly why: string }[];
}

/**
 * Other signers without a break, in three steps, each given time to reach everybody: the new ones are trusted; they
 * sign, and all leaves are issued again; the old ones are no longer trusted.
 */
export type RotationStep = "introduce" | "switch" | "retire";

export interface KeepOptions {
  /** How long before its end a leaf is due. Of lives under three times that: in the last third. */
  readonly renewBeforeMs: number;
  readonly rotation?: RotationStep | undefined;
  readonly now?: Date;
}

/** A certificate's part of a set: its own plan, and what all certificates of the set have in common. */
export const requestOf = <Plan extends SignerPlan | LeafPlan>(form: CertificateForm, plan: Plan, now: Date) => {
  const { key, keyFormat, backdateMs } = form;
  return { ...plan, key, keyFormat, backdateMs, now };
};

const ABSENT = "it did not exist";

export async function keepOrIssue(set: ProfileSet, kept: KeptPki, options: KeepOptions): Promise<UpToDatePki> {
  const { renewBeforeMs, rotation, now = new Date() } = options;
  const issued: { name: string; why: string }[] = [];
  const signers = new Map<string, KeptSigner>();
  const authorities = new Map<string, Authority>();
  for (const plan of set.signers) {
    const report = (why: string) => issued.push({ name: plan.name, why });
    const work: SignerWork = { set, plan, now, report };
    const signer = await rotated(work, await usableSigner(work, kept.signers.get(plan.name)), rotation);
    signers.set(plan.name, signer);
    authorities.set(plan.name, await loadAuthority(leading(signer)));
  }
  const leaves = new Map<string, PemPair>();
  for (const plan of set.leaves) {
    if (leaves.has(plan.name)) throw issueError(`"${plan.name}" would be issued twice; name each node once`);
    const authority = authorities.get(plan.signer)!;
    const signer = leafIn(authority.certificatePem);
    const found = kept.leaves.get(plan.name);
    const why = found === undefined ? ABSENT : objectionToLeaf(found, { form: set, plan, signer, renewBeforeMs, now });
    if (why !== undefined) issued.push({ name: plan.name, why });
    leaves.set(plan.name, why === undefined ? found! : await issueCertificate(authority, requestOf(set, plan, now)));
  }
  return { signers, leaves, bundles: bundlesOf(set, signers), issued };
}

interface SignerWork {
  readonly set: ProfileSet;
  readonly plan: SignerPlan;
  readonly now: Date;
  readonly report: (why: string) => void;
}

async function newSigner({ set, plan, now }: SignerWork): Promise<PemPair> {
  const { certificatePem, privateKeyPem } = await createAuthority(requestOf(set, plan, now));
  return { certificatePem, privateKeyPem };
}

/**
 * The signer as it was found, if it can sign for long enough. A signer without its key cannot be mended: a new one takes
 * its place, and the old one stays trusted. One whose end would cut leaves short keeps its key and gets a new life.
 */
async function usableSigner(work: SignerWork, found: KeptSigner | undefined): Promise<KeptSigner> {
  const { set, plan, now, report } = work;
  const objection = found === undefined ? ABSENT : objectionToSigner(leading(found), plan);
  if (found === undefined || objection !== undefined) {
    report(objection!);
    const made = await newSigner(work);
    const trusted = readableCertificates(found?.certificatePem ?? "").filter(
      ({ certificate }) => Date.parse(certificate.validTo) > now.getTime(),
    );
    return { ...made, certificatePem: made.certificatePem + joinedPem(trusted) };
  }
  const end = Date.parse(leafIn(found.certificatePem).validTo);
  const lives = set.leaves.filter(({ signer }) => signer === plan.name).map(({ validForMs }) => validForMs);
  if (end - now.getTime() >= Math.max(0, ...lives)) return found;
  report(`it ends ${new Date(end).toISOString()}; its key stays`);
  const longer = await extendAuthority(await loadAuthority(leading(found)), requestOf(set, plan, now));
  const others = readableCertificates(found.certificatePem).slice(1);
  return { ...found, certificatePem: longer.certificatePem + joinedPem(others) };
}

async function rotated(work: SignerWork, signer: KeptSigner, step: RotationStep | undefined): Promise<KeptSigner> {
  const { plan, report } = work;
  if (step === "introduce" && signer.next === undefined) {
    report("a next one is trusted beside it");
    return { ...signer, next: await newSigner(work) };
  }
  if (step === "switch") {
    if (signer.next === undefined)
      throw issueError(`${plan.name} has no next signer yet; do the step "introduce" first`);
    report("the next one signs from now on");
    return { ...signer.next, certificatePem: signer.next.certificatePem + signer.certificatePem };
  }
  if (step === "retire" && certificatesIn(signer.certificatePem).length > 1) {
    report("older ones are no longer trusted");
    return { ...signer, ...leading(signer) };
  }
  return signer;
}

/** All certificates of the members of each bundle, each once. */
function bundlesOf({ bundles }: ProfileSet, signers: ReadonlyMap<string, KeptSigner>): ReadonlyMap<string, string> {
  return new Map(
    bundles.map(({ name, signers: members }) => {
      const texts = members.map((member) => {
        const { certificatePem, next } = signers.get(member)!;
        return certificatePem + (next?.certificatePem ?? "");
      });
      return [name, [...new Set(certificatesIn(texts.join("")).map(({ pem }) => pem))].join("")];
    }),
  );
}

/** The certificate that signs, with its key. */
function leading({ certificatePem, privateKeyPem }: PemPair): PemPair {
  return { certificatePem: readableCertificates(certificatePem)[0]?.pem ?? certificatePem, privateKeyPem };
}

/** What all certificates of a set have in common. */
export type CertificateForm = Pick<ProfileSet, "key" | "keyFormat" | "backdateMs">;

interface LeafExpectation {
  readonly form: CertificateForm;
  readonly plan: LeafPlan;
  readonly signer: X509Certificate;
  readonly renewBeforeMs: number;
  readonly now: Date;
}

/** Undefined when the leaf may stay, else why it must be issued again, as half a sentence. */
function objectionToLeaf(pair: PemPair, expected: LeafExpectation): string | undefined {
  const certificate = pairCertificate(pair);
  if (typeof certificate === "string") return certificate;
  const { plan, form, signer } = expected;
  const facts = factsOf(certificate);
  if (facts.isAuthority) return "it is an authority's";
  if (sorted(subjectOf(certificate)) !== sorted(wantedSubject(plan))) return "it has another subject";
  const names = [...plan.dnsNames.map((name) => `DNS:${name}`), ...plan.ipAddresses.map((address) => `IP:${address}`)];
  if (sorted(facts.names.map(lower)) !== sorted(names.map(lower))) return "it is for other names or addresses";
  if (sorted((facts.usages ?? []).map(oidOf)) !== sorted(extendedKeyUsages[plan.use])) return "it is for another use";
  const keyUsages = form.key === "rsa2048" ? ["digitalSignature", "keyEncipherment"] : ["digitalSignature"];
  if (sorted(facts.keyUsages ?? []) !== sorted(keyUsages)) return "its key is for another use";
  // HyperShift compares the names only, so its leaves outlive a signer that no longer exists.
  if (!isSignedBy(certificate, signer)) return "the current signer did not sign it";
  return objectionToLife(facts, expected);
}

/** Undefined when the signer can continue to sign, else why not, as half a sentence. */
function objectionToSigner(pair: PemPair, plan: SignerPlan): string | undefined {
  const certificate = pairCertificate(pair);
  if (typeof certificate === "string") return certificate;
  if (!certificate.ca) return "it may not sign";
  return sorted(subjectOf(certificate)) === sorted(wantedSubject(plan)) ? undefined : "it has another subject";
}

/** The certificate of a pair that fits, else what is wrong with the pair. */
export function pairCertificate({ certificatePem, privateKeyPem }: PemPair): X509Certificate | string {
  try {
    const certificate = leafIn(certificatePem);
    const key = privateKeyIn(privateKeyPem)?.key;
    if (key === undefined) return "it has no key";
    return certificate.checkPrivateKey(key) ? certificate : "its key is another's";
  } catch {
    return "it cannot be read";
  }
}

function objectionToLife(
  { notBefore, notAfter }: CertificateFacts,
  { form, plan, signer, renewBeforeMs, now }: LeafExpectation,
): string | undefined {
  const [start, end] = [notBefore.getTime(), notAfter.getTime()];
  // It never began before its signer, nor ends after it; either may have cut it short.
  const withoutBackdating = end - start - plan.validForMs;
  const least = start === Date.parse(signer.validFrom) ? 0 : form.backdateMs;
  const isRight = withoutBackdating > least - 1000 && withoutBackdating < form.backdateMs + 1000;
  if (!isRight && end !== Date.parse(signer.validTo)) return "it has another length of life";
  // A life of a day must not be due from its first minute on.
  const margin = Math.min(renewBeforeMs, plan.validForMs / 3);
  return end - now.getTime() < margin ? `it ends ${notAfter.toISOString()}` : undefined;
}

const subjectOf = ({ subject }: X509Certificate): string[] => subject.split("\n");

function wantedSubject(plan: LeafPlan | SignerPlan): string[] {
  const units = "organizationalUnits" in plan ? plan.organizationalUnits : [];
  return [
    `CN=${plan.commonName}`,
    ...plan.organizations.map((organization) => `O=${organization}`),
    ...units.map((unit) => `OU=${unit}`),
  ];
}

const oids: Readonly<Record<string, string>> = { serverAuth: SERVER_AUTH, clientAuth: CLIENT_AUTH };
const oidOf = (usage: string): string => oids[usage] ?? usage;
const lower = (text: string): string => text.toLowerCase();
const sorted = (words: readonly string[]): string => words.toSorted().join("\n");

/**
 * Brings a set that somebody keeps (in Secrets, say) up to date in memory: what is good stays as it is, the rest is
 * issued again, and whoever keeps it learns what and why.
 */

import type { X509Certificate } from "node:crypto";
import { type CertificateForm, inFormat, issueLeaf } from "./certificates-for.js";
import { factsOf } from "./inspect/facts.js";
import { type Authority, createAuthority, extendAuthority, loadAuthority, type PemPair } from "./issue.js";
import { certificatesIn, isSignedBy, leafIn, privateKeyIn } from "./pem.js";
import type { LeafPlan, ProfileSet, SignerPlan } from "./profiles.js";
import { CLIENT_AUTH, extendedKeyUsages, issueError, SERVER_AUTH } from "./request.js";

/** As it was found; the first certificate is the one that signs, others are still trusted. */
export interface KeptSigner extends PemPair {
  /** Trusted already, signs nothing yet. */
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

export async function keepOrIssue(set: ProfileSet, kept: KeptPki, options: KeepOptions): Promise<UpToDatePki> {
  const { renewBeforeMs, rotation, now = new Date() } = options;
  const issued: { name: string; why: string }[] = [];
  const signers = new Map<string, KeptSigner>();
  const authorities = new Map<string, Authority>();
  for (const plan of set.signers) {
    const state = new SignerState(set, plan, now, (why) => issued.push({ name: plan.name, why }));
    const signer = await state.stepped(await state.current(kept.signers.get(plan.name)), rotation);
    signers.set(plan.name, signer);
    authorities.set(plan.name, await loadAuthority(first(signer)));
  }
  const leaves = new Map<string, PemPair>();
  for (const plan of set.leaves) {
    const authority = authorities.get(plan.signer)!;
    const signer = leafIn(authority.certificatePem);
    const found = kept.leaves.get(plan.name);
    const why =
      found === undefined
        ? "it did not exist"
        : objectionToLeaf(found, { form: set, plan, signer, renewBeforeMs, now });
    if (why !== undefined) issued.push({ name: plan.name, why });
    leaves.set(plan.name, why === undefined ? found! : await issueLeaf(set, plan, authority, now));
  }
  return { signers, leaves, bundles: bundlesOf(set, signers), issued };
}

class SignerState {
  readonly #set: ProfileSet;
  readonly #plan: SignerPlan;
  readonly #now: Date;
  readonly #tell: (why: string) => void;

  constructor(set: ProfileSet, plan: SignerPlan, now: Date, tell: (why: string) => void) {
    this.#set = set;
    this.#plan = plan;
    this.#now = now;
    this.#tell = tell;
  }

  /** A signer without its key cannot be mended: a new one takes its place, and the old one stays trusted. */
  async current(found: KeptSigner | undefined): Promise<KeptSigner> {
    const objection = found === undefined ? "it did not exist" : objectionToSigner(first(found), this.#plan);
    if (objection !== undefined) {
      this.#tell(objection);
      const made = await this.#make();
      return { ...made, certificatePem: made.certificatePem + stillGood(found?.certificatePem ?? "", this.#now) };
    }
    return this.#longEnough(found!);
  }

  async stepped(signer: KeptSigner, step: RotationStep | undefined): Promise<KeptSigner> {
    if (step === "introduce" && signer.next === undefined) {
      this.#tell("a next one is trusted beside it");
      return { ...signer, next: await this.#make() };
    }
    if (step === "switch") {
      if (signer.next === undefined)
        throw issueError(`${this.#plan.name} has no next signer yet; do the step "introduce" first`);
      this.#tell("the next one signs from now on");
      return { ...signer.next, certificatePem: signer.next.certificatePem + signer.certificatePem };
    }
    if (step === "retire" && certificatesIn(signer.certificatePem).length > 1) {
      this.#tell("older ones are no longer trusted");
      return { ...signer, ...first(signer) };
    }
    return signer;
  }

  /** The same key with a new life, when its own end would cut leaves short. */
  async #longEnough(signer: KeptSigner): Promise<KeptSigner> {
    const current = first(signer);
    const end = Date.parse(leafIn(current.certificatePem).validTo);
    const longest = Math.max(0, ...this.#leaves().map(({ validForMs }) => validForMs));
    if (end - this.#now.getTime() >= longest) return signer;
    this.#tell(`it ends ${new Date(end).toISOString()}; its key stays`);
    const { backdateMs } = this.#set;
    const longer = await extendAuthority(await loadAuthority(current), { ...this.#plan, backdateMs, now: this.#now });
    return { ...signer, certificatePem: longer.certificatePem + others(signer.certificatePem) };
  }

  async #make(): Promise<PemPair> {
    const { key, backdateMs } = this.#set;
    const made = await createAuthority({ ...this.#plan, key, backdateMs, now: this.#now });
    const { certificatePem, privateKeyPem } = inFormat(this.#set, made);
    return { certificatePem, privateKeyPem };
  }

  #leaves() {
    return this.#set.leaves.filter(({ signer }) => signer === this.#plan.name);
  }
}

/** All that the members of each bundle stand for, each certificate once. */
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

function first({ certificatePem, privateKeyPem }: PemPair): PemPair {
  const [leading] = safely(certificatePem);
  return { certificatePem: leading?.pem ?? certificatePem, privateKeyPem };
}

const others = (text: string): string =>
  safely(text)
    .slice(1)
    .map(({ pem }) => pem)
    .join("");

function stillGood(text: string, now: Date): string {
  const good = safely(text).filter(({ certificate }) => Date.parse(certificate.validTo) > now.getTime());
  return good.map(({ pem }) => pem).join("");
}

function safely(text: string): ReturnType<typeof certificatesIn> {
  try {
    return certificatesIn(text);
  } catch {
    return [];
  }
}

export interface LeafExpectation {
  readonly form: CertificateForm;
  readonly plan: LeafPlan;
  readonly signer: X509Certificate;
  readonly renewBeforeMs: number;
  readonly now: Date;
}

/** Undefined when it may stay, else why it must be issued again, as half a sentence. */
export function objectionToLeaf(pair: PemPair, expected: LeafExpectation): string | undefined {
  const certificate = parsed(pair);
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
  // HyperShift looks at the names only, so that its leaves outlive the signer that nobody has any more.
  if (!isSignedBy(certificate, signer)) return "the current signer did not sign it";
  return objectionToLife(facts, expected);
}

/** Undefined when it can go on signing. */
export function objectionToSigner(pair: PemPair, plan: SignerPlan): string | undefined {
  const certificate = parsed(pair);
  if (typeof certificate === "string") return certificate;
  if (!certificate.ca) return "it may not sign";
  return sorted(subjectOf(certificate)) === sorted(wantedSubject(plan)) ? undefined : "it has another subject";
}

function parsed({ certificatePem, privateKeyPem }: PemPair): X509Certificate | string {
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
  { notBefore, notAfter }: { readonly notBefore: Date; readonly notAfter: Date },
  { form, plan, signer, renewBeforeMs, now }: LeafExpectation,
): string | undefined {
  const [start, end] = [notBefore.getTime(), notAfter.getTime()];
  // It never began before its signer, nor ends after it; either may have cut it short.
  const withoutBackdating = end - start - plan.validForMs;
  const isBegunWithSigner = start === Date.parse(signer.validFrom);
  const least = isBegunWithSigner ? 0 : form.backdateMs;
  const isRight = withoutBackdating > least - 1000 && withoutBackdating < form.backdateMs + 1000;
  if (!isRight && end !== Date.parse(signer.validTo)) return "it has another length of life";
  // A life of a day must not be due from its first minute on.
  const margin = Math.min(renewBeforeMs, plan.validForMs / 3);
  if (end - now.getTime() < margin) return `it ends ${notAfter.toISOString()}`;
  return undefined;
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

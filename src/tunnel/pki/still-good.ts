/** Whether a certificate that exists is the one that would be issued now. */
import type { X509Certificate } from "node:crypto";
import type { CertificateForm } from "./certificates-for.js";
import { factsOf } from "./inspect/facts.js";
import type { PemPair } from "./issue.js";
import { leafIn, privateKeyIn } from "./pem.js";
import type { LeafPlan, SignerPlan } from "./profiles/profile-set.js";
import { CLIENT_AUTH, extendedKeyUsages, SERVER_AUTH } from "./request.js";

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
  if (!certificate.checkIssued(signer) || !certificate.verify(signer.publicKey))
    return "the current signer did not sign it";
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

/** What can be wrong with a certificate, each rule with what to do about it. */
import type { X509Certificate } from "node:crypto";
import { type Finding, failed, type Judgement, warning } from "../../../base/finding.js";
import { roughDuration } from "../../../base/text.js";
import { dueAt } from "../manifest.js";
import { type ChainResult, isFor } from "../pem.js";
import type { CertificateFacts } from "./facts.js";
import type { InspectedCertificate, InspectedFile } from "./inspect.js";

/** One certificate with everything that the rules need to judge it. */
export interface InspectionSubject {
  readonly file: InspectedFile;
  readonly certificate: X509Certificate;
  readonly facts: CertificateFacts;
  readonly use: InspectedCertificate["use"];
  readonly chain: ChainResult;
  /** The file whose key has the same stem, or else the one whose key matches. */
  readonly keyFile: InspectedFile | undefined;
  readonly keyMatches: boolean | undefined;
  /** From the manifest: how long it was meant to live. */
  readonly validForMs: number | undefined;
  readonly signerKeyWanted: boolean;
}

export interface Surroundings {
  readonly now: Date;
  /** Where agents dial, if that is known. */
  readonly address: string | undefined;
  /** How certificates of this directory are made again. */
  readonly makeAgain: string;
  /** How they are made for another address. */
  readonly makeForAddress: string;
}

/** Without a subject, it is about the certificate's own file. */
type Found = Judgement & Pick<Finding, "check">;

export const ABOUT = "Certificates fit together and are valid";
export const certificateFailure = (check: string, message: string, remedy: string): Found => ({
  check,
  ...failed(message, remedy),
});
export const certificateWarning = (check: string, message: string, remedy: string): Found => ({
  check,
  ...warning(message, remedy),
});

export function findingsOf(subject: InspectionSubject, surroundings: Surroundings): Finding[] {
  const rules = [lifetime, chain, usage, servesAddress, maySign, ownKey, keyMode, signerKey, fips];
  return rules.flatMap((rule) =>
    [...rule(subject, surroundings)].map((found) => ({ about: ABOUT, subject: subject.file.path, ...found })),
  );
}

function* lifetime(
  { chain, facts, validForMs }: InspectionSubject,
  { now, makeAgain }: Surroundings,
): Generator<Found> {
  const { notBefore, notAfter } = facts;
  const sinceEnd = now.getTime() - notAfter.getTime();
  if (sinceEnd >= 0) {
    const message = `it expired ${roughDuration(sinceEnd)} ago, on ${notAfter.toISOString()}`;
    return yield certificateFailure("expired", message, makeAgain);
  }
  const untilStart = notBefore.getTime() - now.getTime();
  if (untilStart > 0) {
    const message = `it is valid only in ${roughDuration(untilStart)}, from ${notBefore.toISOString()}`;
    return yield certificateFailure("not-yet-valid", message, clockRemedy(now));
  }
  const dates = { notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
  if (dueAt({ ...dates, ...(validForMs !== undefined && { validForMs }) }) <= now.getTime()) {
    yield certificateWarning("expires-soon", `it expires in ${roughDuration(-sinceEnd)}`, makeAgain);
  }
  const signer = chain.state === "verified" ? chain.chain[1] : undefined;
  if (signer !== undefined && Date.parse(signer.validTo) < notAfter.getTime()) {
    const message = `its signer ends earlier, on ${new Date(signer.validTo).toISOString()}, and it is refused from then on`;
    yield certificateWarning("outlives-signer", message, makeAgain);
  }
}

function clockRemedy(now: Date): string {
  return `This host's clock says ${now.toISOString()}; set it (chronyc makestep) or, if it is right, the clock of the host that issued the certificate and issue again.`;
}

function* chain(
  { chain: { state }, facts: { issuer } }: InspectionSubject,
  { makeAgain }: Surroundings,
): Generator<Found> {
  if (state === "forged") {
    const message = `the authority here is named ${issuer} but did not sign it: the files come from different issues`;
    yield certificateFailure("chain", message, `Install certificate and authority from the same issue. ${makeAgain}`);
  } else if (state === "foreign") {
    const message = `none of the authorities here signed it; its issuer is ${issuer}`;
    const remedy =
      "Give the bundle that holds its issuer with --ca, or install certificate and authority from the same issue.";
    yield certificateFailure("chain", message, remedy);
  } else if (state === "unknown") {
    yield certificateWarning(
      "chain-unknown",
      `no authority is at hand to check it against`,
      "Give the bundle with --ca.",
    );
  }
}

function* usage({ use, facts: { usages } }: InspectionSubject, { makeAgain }: Surroundings): Generator<Found> {
  if (use === undefined || use === "signer" || usages === undefined) return;
  const needed = use === "both" ? ["serverAuth", "clientAuth"] : [`${use}Auth`];
  const lacking = needed.filter((usageName) => !usages.includes(usageName));
  if (lacking.length === 0) return;
  const message = `it is a ${use}'s but its extended key usage (${usages.join(", ") || "none"}) lacks ${lacking.join(", ")}, so peers refuse it`;
  yield certificateFailure("usage", message, `Use the certificate that was made for the ${use}. ${makeAgain}`);
}

export function isServers({ use, facts }: Pick<InspectionSubject, "use" | "facts">): boolean {
  if (use !== undefined) return use === "server" || use === "both";
  return !facts.isAuthority && (facts.usages?.includes("serverAuth") ?? facts.names.length > 0);
}

function* servesAddress(subject: InspectionSubject, { address, makeForAddress }: Surroundings): Generator<Found> {
  const { certificate, facts } = subject;
  if (address === undefined || !isServers(subject) || isFor(certificate, address)) return;
  const message = `agents that dial ${address} refuse it: it is for ${facts.names.join(", ") || "no address at all"}`;
  yield certificateFailure("address", message, `${makeForAddress}, or let agents dial an address that it has.`);
}

function* maySign({ use, facts }: InspectionSubject, { makeAgain }: Surroundings): Generator<Found> {
  if (use === "signer" && !facts.isAuthority) {
    yield certificateFailure("may-not-sign", "it is used as an authority but is none (basic constraints)", makeAgain);
  } else if (facts.isAuthority && facts.keyUsages?.includes("keyCertSign") === false) {
    yield certificateFailure("may-not-sign", "its key usage does not allow it to sign certificates", makeAgain);
  }
}

function* ownKey({ keyFile, keyMatches, facts }: InspectionSubject, { makeAgain }: Surroundings): Generator<Found> {
  if (keyMatches === false) {
    const message = `the key in ${keyFile!.path} does not belong to it`;
    yield certificateFailure("key-mismatch", message, `Install certificate and key from the same issue. ${makeAgain}`);
  } else if (keyFile === undefined && !facts.isAuthority) {
    yield certificateWarning("key-missing", "its private key is not here", "Nothing to do if only peers read it.");
  }
}

function* keyMode({ keyFile }: InspectionSubject): Generator<Found> {
  if (keyFile === undefined || (keyFile.mode & 0o077) === 0) return;
  const [file, shown] = [keyFile.path, octal(keyFile.mode)];
  if ((keyFile.mode & 0o007) !== 0) {
    const remedy = `chmod 600 ${file}, and make the certificates again if others had access to this host.`;
    yield {
      ...certificateFailure("key-readable", `every user may use this private key (mode ${shown})`, remedy),
      subject: file,
    };
  } else {
    const remedy = "chmod 600 it unless the process that reads it runs as another user of that group.";
    yield {
      ...certificateWarning("key-readable", `its group may use this private key (mode ${shown})`, remedy),
      subject: file,
    };
  }
}

function* signerKey({ keyFile, facts, keyMatches, signerKeyWanted }: InspectionSubject): Generator<Found> {
  if (!facts.isAuthority || keyFile === undefined || keyMatches === false) return;
  const file = keyFile.path;
  const message = "the authority's private key lies here: whoever reads it can admit agents of their own";
  const remedy = signerKeyWanted
    ? "It was kept on purpose, for pki issue and pki renew; remove it when no more are needed."
    : `Remove it (rm ${file}); nothing that runs needs it.`;
  yield {
    ...(signerKeyWanted ? certificateWarning : certificateFailure)("signer-key", message, remedy),
    subject: file,
  };
}

function* fips({ facts: { fipsObjection } }: InspectionSubject, { makeAgain }: Surroundings): Generator<Found> {
  if (fipsObjection !== undefined)
    yield certificateWarning("fips", `a host in FIPS mode refuses it: ${fipsObjection}`, makeAgain);
}

export function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

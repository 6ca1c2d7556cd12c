/** What can be wrong with a certificate, each rule with what to do about it. */

import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { roughDuration } from "../../../base/text.js";
import { dueAt } from "../manifest.js";
import type { ChainResult } from "../pem.js";
import type { CertificateFacts } from "./facts.js";
import type { CertificateFinding, CertificateFindingId, InspectedCertificate, InspectedFile } from "./inspect.js";

/** One certificate with all that is known around it. */
export interface Subject {
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
  /** Where agents dial, when the reader told. */
  readonly address: string | undefined;
  /** How certificates of this directory are made anew. */
  readonly makeAnew: string;
  /** How they are made for another address. */
  readonly makeForAddress: string;
}

type Rule = (subject: Subject, surroundings: Surroundings) => CertificateFinding[];

export const rules: readonly Rule[] = [
  lifetime,
  chain,
  usage,
  servesAddress,
  maySign,
  ownKey,
  keyMode,
  signerKey,
  fips,
];

function lifetime(subject: Subject, { now, makeAnew }: Surroundings): CertificateFinding[] {
  const { notBefore, notAfter } = subject.facts;
  const sinceEnd = now.getTime() - notAfter.getTime();
  if (sinceEnd >= 0) {
    return [
      wrong(subject, "expired", `it expired ${roughDuration(sinceEnd)} ago, on ${notAfter.toISOString()}`, makeAnew),
    ];
  }
  const untilStart = notBefore.getTime() - now.getTime();
  if (untilStart > 0) {
    const message = `it is valid only in ${roughDuration(untilStart)}, from ${notBefore.toISOString()}`;
    return [wrong(subject, "not-yet-valid", message, clockRemedy(now))];
  }
  const findings: CertificateFinding[] = [];
  const due = dueAt({
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    ...(subject.validForMs !== undefined && { validForMs: subject.validForMs }),
  });
  if (due <= now.getTime()) {
    findings.push(warning(subject, "expires-soon", `it expires in ${roughDuration(-sinceEnd)}`, makeAnew));
  }
  const signer = subject.chain.state === "verified" ? subject.chain.chain[1] : undefined;
  if (signer !== undefined && Date.parse(signer.validTo) < notAfter.getTime()) {
    const message = `its signer ends earlier, on ${new Date(signer.validTo).toISOString()}, and it is refused from then on`;
    findings.push(warning(subject, "outlives-signer", message, makeAnew));
  }
  return findings;
}

function clockRemedy(now: Date): string {
  return `This host's clock says ${now.toISOString()}; set it (chronyc makestep) or, if it is right, the clock of the host that issued the certificate and issue again.`;
}

function chain(subject: Subject, { makeAnew }: Surroundings): CertificateFinding[] {
  const { issuer } = subject.facts;
  switch (subject.chain.state) {
    case "verified":
      return [];
    case "forged":
      return [
        wrong(
          subject,
          "chain",
          `the authority here is named ${issuer} but did not sign it: the files come from different issues`,
          `Install certificate and authority from the same issue. ${makeAnew}`,
        ),
      ];
    case "foreign":
      return [
        wrong(
          subject,
          "chain",
          `none of the authorities here signed it; its issuer is ${issuer}`,
          "Give the bundle that holds its issuer with --ca, or install certificate and authority from the same issue.",
        ),
      ];
    default:
      return [
        warning(subject, "chain-unknown", `no authority is at hand to check it against`, "Give the bundle with --ca."),
      ];
  }
}

const words = { server: "serverAuth", client: "clientAuth" } as const;

function usage(subject: Subject, { makeAnew }: Surroundings): CertificateFinding[] {
  const { use, facts } = subject;
  if (use === undefined || use === "signer" || facts.usages === undefined) return [];
  const needed = use === "both" ? ([words.server, words.client] as const) : [words[use]];
  const lacking = needed.filter((usageName) => !facts.usages!.includes(usageName));
  if (lacking.length === 0) return [];
  const message = `it is a ${use}'s but its extended key usage (${facts.usages.join(", ") || "none"}) lacks ${lacking.join(", ")}, so peers refuse it`;
  return [wrong(subject, "usage", message, `Use the certificate that was made for the ${use}. ${makeAnew}`)];
}

export function isServers({ use, facts }: Pick<Subject, "use" | "facts">): boolean {
  if (use !== undefined) return use === "server" || use === "both";
  return !facts.isAuthority && (facts.usages?.includes("serverAuth") ?? facts.names.length > 0);
}

function servesAddress(subject: Subject, { address, makeForAddress }: Surroundings): CertificateFinding[] {
  if (address === undefined || !isServers(subject)) return [];
  const { certificate, facts } = subject;
  const listed =
    isIP(address) === 0 ? certificate.checkHost(address, { subject: "never" }) : certificate.checkIP(address);
  if (listed !== undefined) return [];
  const message = `agents that dial ${address} refuse it: it is for ${facts.names.join(", ") || "no address at all"}`;
  return [wrong(subject, "address", message, `${makeForAddress}, or let agents dial an address that it has.`)];
}

function maySign(subject: Subject, { makeAnew }: Surroundings): CertificateFinding[] {
  const { use, facts } = subject;
  if (use === "signer" && !facts.isAuthority) {
    return [wrong(subject, "may-not-sign", "it is used as an authority but is none (basic constraints)", makeAnew)];
  }
  if (!facts.isAuthority || facts.keyUsages === undefined || facts.keyUsages.includes("keyCertSign")) return [];
  return [wrong(subject, "may-not-sign", "its key usage does not allow it to sign certificates", makeAnew)];
}

function ownKey(subject: Subject, { makeAnew }: Surroundings): CertificateFinding[] {
  const { keyFile, keyMatches, facts } = subject;
  if (keyMatches === false) {
    const message = `the key in ${keyFile!.path} does not belong to it`;
    return [wrong(subject, "key-mismatch", message, `Install certificate and key from the same issue. ${makeAnew}`)];
  }
  if (keyFile !== undefined || facts.isAuthority) return [];
  return [warning(subject, "key-missing", "its private key is not here", "Nothing to do if only peers read it.")];
}

function keyMode({ keyFile }: Subject): CertificateFinding[] {
  if (keyFile === undefined || (keyFile.mode & 0o077) === 0) return [];
  const shown = octal(keyFile.mode);
  const forAll = (keyFile.mode & 0o007) !== 0;
  return [
    {
      severity: forAll ? "wrong" : "warning",
      id: "key-readable",
      file: keyFile.path,
      message: `${forAll ? "every user" : "its group"} may use this private key (mode ${shown})`,
      remedy: forAll
        ? `chmod 600 ${keyFile.path}, and make the certificates anew if others were on this host.`
        : "chmod 600 it unless the process that reads it runs as another user of that group.",
    },
  ];
}

function signerKey({ keyFile, facts, keyMatches, signerKeyWanted }: Subject): CertificateFinding[] {
  if (!facts.isAuthority || keyFile === undefined || keyMatches === false) return [];
  return [
    {
      severity: signerKeyWanted ? "warning" : "wrong",
      id: "signer-key",
      file: keyFile.path,
      message: `the authority's private key lies here: whoever reads it can let in agents of their own`,
      remedy: signerKeyWanted
        ? "It was kept on purpose, for pki issue and pki renew; remove it when no more are needed."
        : `Remove it (rm ${keyFile.path}); nothing that runs needs it.`,
    },
  ];
}

function fips(subject: Subject, { makeAnew }: Surroundings): CertificateFinding[] {
  const objection = subject.facts.fipsObjection;
  if (objection === undefined) return [];
  return [warning(subject, "fips", `a host in FIPS mode refuses it: ${objection}`, makeAnew)];
}

export function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

function wrong({ file }: Subject, id: CertificateFindingId, message: string, remedy: string): CertificateFinding {
  return { severity: "wrong", id, file: file.path, message, remedy };
}

function warning({ file }: Subject, id: CertificateFindingId, message: string, remedy: string): CertificateFinding {
  return { severity: "warning", id, file: file.path, message, remedy };
}

/** The certificate that a server shows, judged as its clients do: is it for that address, valid, and trusted? */
import { X509Certificate } from "node:crypto";
import { failed, type Judgement } from "../../base/finding.js";
import { certificatesIn, chainOf, isFor } from "../../tunnel/pki/pem.js";

export interface Shown {
  /** `host:port` */
  readonly where: string;
  readonly raw: Buffer;
  /** What the dialler calls the server; undefined when that is not known. */
  readonly name: string | undefined;
  /** The dialler's authorities, where they are known. */
  readonly ca: { readonly file: string; readonly text: string | undefined };
  readonly now: Date;
}

/** Names of the two sides, and remedies for them. */
export interface Parties {
  /** "the server's certificate" */
  readonly certificate: string;
  /** "so agents refuse it" */
  readonly consequence: string;
  readonly forAnotherName: string;
  readonly makeAgain: string;
  readonly sameIssue: string;
}

export interface ShownJudgement {
  readonly found: readonly Judgement[];
  readonly evidence: string;
  /** Whether there were authorities to compare with. */
  readonly isTrusted: boolean;
}

export function judgeShown({ where, raw, name, ca, now }: Shown, parties: Parties): ShownJudgement {
  const certificate = new X509Certificate(raw);
  const evidence = `${where} shows ${certificate.subject.replaceAll("\n", ", ")} for ${certificate.subjectAltName ?? "no address"}`;
  const [start, end, at] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo), now.getTime()];
  const authorities = ca.text === undefined ? [] : certificatesIn(ca.text).map((one) => one.certificate);
  const { certificate: its, consequence, forAnotherName, makeAgain, sameIssue } = parties;
  const found: Judgement[] = [];
  if (name !== undefined && !isFor(certificate, name))
    found.push(failed(`${its} is not for ${name}, ${consequence}`, forAnotherName, evidence));
  if (at > end) found.push(failed(`${its} ended ${certificate.validTo}`, makeAgain, evidence));
  if (at < start) {
    const message = `${its} starts only ${certificate.validFrom}, and it is ${now.toISOString()} here`;
    found.push(failed(message, "Set the clocks of both hosts (chronyc makestep).", evidence));
  }
  if (authorities.length > 0 && chainOf(certificate, authorities).state !== "verified") {
    found.push(failed(`the authority in ${ca.file} did not sign ${its}`, sameIssue, evidence));
  }
  return { found, evidence, isTrusted: authorities.length > 0 };
}

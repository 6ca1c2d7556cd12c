/** What a server shows in its handshake, judged as whoever dials it would: is it for that address, valid, and believed? */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { chainOf } from "../../tunnel/pki/inspect/chain.js";
import { certificatesIn } from "../../tunnel/pki/pem.js";
import { type Outcome, wrong } from "./diagnosis.js";

export interface Shown {
  /** `host:port` */
  readonly where: string;
  readonly raw: Buffer;
  /** What the dialler calls the server. */
  readonly name: string;
  /** The dialler's authorities, where they are known. */
  readonly ca: { readonly file: string; readonly text: string | undefined };
  readonly now: Date;
}

/** In the words of the two sides. */
export interface Parties {
  /** "the server's certificate" */
  readonly certificate: string;
  /** "so agents refuse it" */
  readonly consequence: string;
  readonly forAnotherName: string;
  readonly makeAnew: string;
  readonly sameIssue: string;
}

export interface Judgement {
  readonly found: readonly Outcome[];
  readonly evidence: string;
  /** Whether there were authorities to compare with. */
  readonly isTrusted: boolean;
}

export function judgeShown({ where, raw, name, ca, now }: Shown, parties: Parties): Judgement {
  const certificate = new X509Certificate(raw);
  const evidence = `${where} shows ${certificate.subject.replaceAll("\n", ", ")} for ${certificate.subjectAltName ?? "no address"}`;
  const [start, end, at] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo), now.getTime()];
  const authorities = ca.text === undefined ? [] : certificatesIn(ca.text).map((one) => one.certificate);
  const { certificate: its, consequence, forAnotherName, makeAnew, sameIssue } = parties;
  const found: Outcome[] = [];
  if (!isFor(certificate, name))
    found.push(wrong(`${its} is not for ${name}, ${consequence}`, forAnotherName, evidence));
  if (at > end) found.push(wrong(`${its} ended ${certificate.validTo}`, makeAnew, evidence));
  if (at < start) {
    const finding = `${its} starts only ${certificate.validFrom}, and it is ${now.toISOString()} here`;
    found.push(wrong(finding, "Set the clocks of both hosts (chronyc makestep).", evidence));
  }
  if (authorities.length > 0 && chainOf(certificate, authorities).state !== "verified") {
    found.push(wrong(`the authority in ${ca.file} did not sign ${its}`, sameIssue, evidence));
  }
  return { found, evidence, isTrusted: authorities.length > 0 };
}

/** Only the names it lists count, as for every Go program. */
export function isFor(certificate: X509Certificate, name: string): boolean {
  const listed = isIP(name) === 0 ? certificate.checkHost(name, { subject: "never" }) : certificate.checkIP(name);
  return listed !== undefined;
}

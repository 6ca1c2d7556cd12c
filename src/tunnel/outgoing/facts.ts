/** What is known about both ends of a connection that this process makes, and how certificates are named to people. */
import type { X509Certificate } from "node:crypto";
import { plainText } from "../../base/text.js";
import type { CertificateSet } from "../pki/certificate-set.js";
import { lifeProblem } from "../pki/manifest.js";
import { readableCertificates } from "../pki/pem.js";
import { listed } from "../pki/shown.js";

/** What this process shows and trusts, and where that comes from. */
export interface Credentials {
  /** As in `this agent`. */
  readonly self: string;
  readonly set: CertificateSet;
  /** Empty: none, or not from a file. */
  readonly certFile?: string | undefined;
  readonly caFile?: string | undefined;
  /** The server's flag with the authorities that our certificate has to come from. */
  readonly admittedBy: string;
  /** Which ports are dialled in place of the right one, as in `it is a frontend, or another program's`. */
  readonly mistakenFor?: string;
}

/** The certificates in question, parsed. */
export interface DialFacts extends Omit<Credentials, "set"> {
  /** `host:port`, as it was configured. */
  readonly where: string;
  /** The name or address that the server's certificate has to be for. */
  readonly name: string;
  /** Our chain, leaf first; empty when we show none. */
  readonly own: readonly X509Certificate[];
  /** Undefined: those of the system. */
  readonly authorities: readonly X509Certificate[] | undefined;
  /** The server's chain as it was shown, leaf first. */
  readonly peer: readonly X509Certificate[];
  readonly now: Date;
}

export function dialFacts(
  at: { readonly where: string; readonly name: string; readonly peer?: readonly X509Certificate[] },
  { set, ...credentials }: Credentials,
): DialFacts {
  const parsed = (text: string): readonly X509Certificate[] =>
    readableCertificates(text).map(({ certificate }) => certificate);
  return {
    ...credentials,
    ...at,
    peer: at.peer ?? [],
    own: parsed(set.cert ?? ""),
    authorities: set.ca === undefined ? undefined : parsed(set.ca),
    now: new Date(),
  };
}

const LONGEST_NAME = 200;

/** Whom a certificate is for that is not for this name, in words that go on from it. */
export function otherNames({ subjectAltName = "" }: Pick<X509Certificate, "subjectAltName">, name: string): string {
  const names = subjectAltName.split(", ").filter((each) => each !== "");
  if (names.length === 0) return ": it has no subject alternative name, and its common name does not count";
  if (names.includes(`DNS:${name}`)) return ": it has this address as a DNS name, and an address has to be an IP one";
  return `, but for ${plainText(listed(names.map(withoutKind)), LONGEST_NAME)}`;
}

const withoutKind = (name: string): string => name.replace(/^(?:DNS|IP Address):/, "");

/** What is wrong with its time now, in words that go on from its name; undefined when nothing is. */
export function timeProblem({ validFrom, validTo }: X509Certificate, now: Date) {
  const problem = lifeProblem({ notBefore: new Date(validFrom), notAfter: new Date(validTo) }, now);
  return problem?.id === "expires-soon" ? undefined : problem;
}

export type CertificateProblem = "name" | "expired" | "not-yet-valid" | "untrusted";

/** What is wrong with a peer's certificate, by the code of Node or OpenSSL; undefined when another thing failed. */
export function certificateProblem(code: string): CertificateProblem | undefined {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "name";
  if (code === "CERT_HAS_EXPIRED") return "expired";
  if (code === "CERT_NOT_YET_VALID") return "not-yet-valid";
  return UNTRUSTED.test(code) ? "untrusted" : undefined;
}

const UNTRUSTED =
  /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_CA)$/;

/** Why a chain is refused although it ends at an authority that is trusted: what its issuers may not do. */
import type { X509Certificate } from "node:crypto";
import { listed, quotedName } from "./shown.js";

/** The extension 2.5.29.30 of an authority. */
const NAME_CONSTRAINTS = Buffer.from("0603551d1e", "hex");
/** sha1WithRSAEncryption and ecdsa-with-SHA1. */
const SHA1 = ["06092a864886f70d010105", "06072a8648ce3d0401"].map((oid) => Buffer.from(oid, "hex"));
const SHORTEST_RSA_BITS = 2048;

const isSha1 = ({ raw }: X509Certificate): boolean => SHA1.some((oid) => raw.includes(oid));

/** The length of an RSA key that is too short. */
const shortRsaBits = ({ publicKey: { asymmetricKeyDetails } }: X509Certificate): number | undefined => {
  const bits = asymmetricKeyDetails?.modulusLength;
  return bits !== undefined && bits < SHORTEST_RSA_BITS ? bits : undefined;
};

/** What makes a certificate weak, whoever accepts it still. Nobody looks at the signature of one that signed itself. */
export function weaknessOf(certificate: X509Certificate): string | undefined {
  const bits = shortRsaBits(certificate);
  if (bits !== undefined) return `its RSA key has ${bits} bits`;
  return isSha1(certificate) && !certificate.checkIssued(certificate) ? "it is signed with SHA-1" : undefined;
}

/**
 * In words that go on from the certificate's name; undefined when it is something else. `chain` is from the leaf to the
 * trusted authority, `verdict` is Node's name for what OpenSSL found, which is UNSPECIFIED for many things.
 */
export function issuerProblem(chain: readonly X509Certificate[], verdict: string): string | undefined {
  const authorities = chain.slice(1);
  const names = listed(authorities.map(({ subject }) => quotedName(subject)));
  const powerless = authorities.find(({ ca }) => !ca);
  if (powerless !== undefined) {
    return `has an issuer, ${quotedName(powerless.subject)}, that may not issue certificates (CA:FALSE in its basic constraints)`;
  }
  if (verdict === "PATH_LENGTH_EXCEEDED") {
    return `has more authorities above it (${names}) than one of them allows (pathlen in its basic constraints)`;
  }
  if (verdict === "CERT_SIGNATURE_FAILURE")
    return "has a signature that is not its issuer's, so it was damaged or changed";
  if (verdict !== "UNSPECIFIED") return undefined;
  const weak = chain.find(isSha1);
  if (weak !== undefined) return `${whose(weak, chain)} signed with SHA-1, which is not accepted`;
  const short = chain.find((each) => shortRsaBits(each) !== undefined);
  if (short !== undefined) return `${whose(short, chain)} made with an RSA key of less than ${SHORTEST_RSA_BITS} bits`;
  const constrained = authorities.find(({ raw }) => raw.includes(NAME_CONSTRAINTS));
  if (constrained === undefined) return undefined;
  return `has names that its issuer ${quotedName(constrained.subject)} may not certify (name constraints)`;
}

function whose(one: X509Certificate, [leaf]: readonly X509Certificate[]): string {
  return one === leaf ? "is" : `has an issuer, ${quotedName(one.subject)}, whose certificate is`;
}

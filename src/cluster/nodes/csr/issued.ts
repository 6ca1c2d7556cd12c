/** What a signer made of a request for a serving certificate. */
import { factsOf } from "../../../tunnel/pki/inspect/facts.js";
import { leafIn } from "../../../tunnel/pki/pem.js";
import { type IssuedCertificate, spelled } from "./held.js";
import { NODE_USER_PREFIX, SERVING_SIGNER, type SigningRequest } from "./signing-request.js";

/** Undefined while there is no certificate, and for one that is no node's. */
export function issuedServing({ spec, status }: SigningRequest): (IssuedCertificate & { node: string }) | undefined {
  if (spec?.signerName !== SERVING_SIGNER || !status?.certificate) return undefined;
  try {
    const certificate = leafIn(Buffer.from(status.certificate, "base64").toString("latin1"));
    const commonName = /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "";
    if (!commonName.startsWith(NODE_USER_PREFIX)) return undefined;
    const { names, notAfter } = factsOf(certificate);
    return { node: commonName.slice(NODE_USER_PREFIX.length), names: spelled(names), until: notAfter.getTime() };
  } catch {
    // Whose certificate cannot be read counts as one whose end is not known.
    return undefined;
  }
}

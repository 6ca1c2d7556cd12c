/** A key of one's own, and a request that somebody else signs a certificate for it. */
// @peculiar/x509 throws at import unless reflect-metadata came first.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { distinguishedName, generateKeys, privatePem, signingAlgorithm, subjectAlternativeNames } from "./issue.js";
import { pemText } from "./pem.js";
import type { CertificateRequest } from "./request.js";

export interface MadeRequest {
  /** PKCS #10, PEM. */
  readonly requestPem: string;
  readonly privateKeyPem: string;
}

/** With a P-256 key, as kubelets have them. */
export async function makeSigningRequest(
  wanted: Pick<CertificateRequest, "commonName" | "dnsNames" | "ipAddresses" | "organizations">,
): Promise<MadeRequest> {
  const keys = await generateKeys("p256");
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: distinguishedName(wanted).toJSON(),
    keys,
    signingAlgorithm: signingAlgorithm(keys.privateKey),
    extensions: subjectAlternativeNames({ ...wanted, profile: "both" }),
  });
  return {
    requestPem: pemText("CERTIFICATE REQUEST", Buffer.from(request.rawData)),
    privateKeyPem: privatePem(keys.privateKey),
  };
}

import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { requestPem, SERVING_SIGNER, type SigningRequest } from "../../src/cluster/nodes/csr/signing-request.js";
import type { Authority } from "../../src/tunnel/pki/issue.js";
import { CLIENT_AUTH, SERVER_AUTH } from "../../src/tunnel/pki/request.js";

const HOUR_MS = 60 * 60_000;

/** The certificate that an approved request asks for, PEM. */
export async function signed(authority: Authority, request: SigningRequest): Promise<string> {
  const asked = new x509.Pkcs10CertificateRequest(requestPem(request));
  const isServing = request.spec?.signerName === SERVING_SIGNER;
  const names = asked.getExtension("2.5.29.17");
  const certificate = await x509.X509CertificateGenerator.create({
    subject: asked.subjectName,
    issuer: authority.certificate.subjectName,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + HOUR_MS),
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    publicKey: asked.publicKey,
    signingKey: authority.signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([isServing ? SERVER_AUTH : CLIENT_AUTH]),
      ...(names === null ? [] : [names]),
    ],
  });
  return `${certificate.toString("pem").trim()}\n`;
}

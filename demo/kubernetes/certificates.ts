import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Authority, createAuthority, issueCertificate } from "../../src/tunnel/pki/issue.js";
import type { CertificateRequest } from "../../src/tunnel/pki/request.js";
import { writePem } from "../../src/tunnel/pki/write-pki.js";
import type { CertFiles } from "../../test/support/processes/certs.js";

export interface ClusterCertificates {
  readonly serving: CertFiles;
  readonly admin: CertFiles;
  /** Signs service account tokens; the kube-apiserver insists on having one. */
  readonly tokenKey: string;
}

export async function makeClusterCertificates(folder: string): Promise<ClusterCertificates> {
  mkdirSync(folder, { mode: 0o700 });
  const authority = await createAuthority({ commonName: "demo cluster" });
  const ca = (await writePem(folder, "ca", { certificatePem: authority.certificatePem })).certFile;
  const [serving, admin] = await Promise.all([
    issue(folder, ca, authority, "serving", {
      use: "server",
      commonName: "kube-apiserver",
      dnsNames: ["kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1"],
    }),
    issue(folder, ca, authority, "admin", {
      use: "client",
      commonName: "admin",
      organizations: ["system:masters"],
    }),
  ]);
  const tokenKey = join(folder, "tokens.key");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(tokenKey, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  return { serving, admin, tokenKey };
}

async function issue(
  folder: string,
  ca: string,
  authority: Authority,
  name: string,
  request: CertificateRequest,
): Promise<CertFiles> {
  const { certFile, keyFile } = await writePem(folder, name, await issueCertificate(authority, request));
  return { ca, cert: certFile, key: keyFile! };
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Authority, createAuthority, issueCertificate } from "../../../src/tunnel/pki/issue.js";
import { writePem } from "../../../src/tunnel/pki/write-pem.js";

/** One authority signs everybody: who trusts whom is not what these situations are about. */
export interface HousePki {
  readonly caFile: string;
  readonly server: { readonly certFile: string; readonly keyFile: string };
  readonly client: { readonly certFile: string; readonly keyFile: string };
  /** What a raw TLS client of a test presents. */
  readonly clientTls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Puts a client certificate with this life into files of its own, or into the same ones again. */
  issueClient(name: string, validForMs: number): Promise<{ readonly certFile: string; readonly keyFile: string }>;
  /** Puts a new server certificate into the same files. */
  rotateServer(commonName: string): Promise<void>;
}

export async function makeHousePki(dir: string): Promise<HousePki> {
  const authority = await createAuthority({ commonName: "house-ca" });
  const { certFile: caFile } = await writePem(dir, "ca", { certificatePem: authority.certificatePem });
  const client = await issueCertificate(authority, { profile: "client", commonName: "house-client" });
  const clientFiles = await writePem(dir, "client", client);
  const serverFiles = await writeServer(dir, authority, "house-server");
  return {
    caFile,
    server: serverFiles,
    client: { certFile: clientFiles.certFile, keyFile: clientFiles.keyFile! },
    clientTls: { ca: readFileSync(caFile, "utf8"), cert: client.certificatePem, key: client.privateKeyPem },
    async issueClient(name, validForMs) {
      const pair = await issueCertificate(authority, { profile: "client", commonName: name, validForMs });
      const { certFile, keyFile } = await writePem(dir, name, pair);
      return { certFile, keyFile: keyFile! };
    },
    async rotateServer(commonName) {
      await writeServer(dir, authority, commonName);
    },
  };
}

async function writeServer(dir: string, authority: Authority, commonName: string) {
  const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  await writePem(dir, "server", await issueCertificate(authority, { profile: "server", commonName, ...names }));
  return { certFile: join(dir, "server.crt"), keyFile: join(dir, "server.key") };
}

import { execFileSync, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Authority, createAuthority, issueCertificate, loadAuthority, type PemPair } from "./issue.js";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.warn("skipped: certificates are not checked with openssl; install the openssl package");

const oddName = '#odd, "quoted" \\ name';
const now = new Date("2031-05-06T07:08:09.987Z");
let authority: Authority;
let server: PemPair;

beforeAll(async () => {
  authority = await createAuthority({ commonName: "test authority" });
  server = await issueCertificate(authority, {
    use: "server",
    commonName: "proxy-server",
    dnsNames: ["localhost", "*.example.test"],
    ipAddresses: ["127.0.0.1", "2001:db8::7"],
  });
});

describe("createAuthority", () => {
  test("makes a self-signed P-256 authority that lives one day, back-dated five minutes", async () => {
    const made = await createAuthority({ commonName: oddName, now });
    const certificate = new X509Certificate(made.certificatePem);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.subject).toBe('CN=\\#odd\\, \\"quoted\\" \\\\ name');
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect(new Date(certificate.validFrom).toISOString()).toBe("2031-05-06T07:03:09.000Z");
    expect(new Date(certificate.validTo).toISOString()).toBe("2031-05-07T07:08:09.000Z");
  });

  test("refuses a common name that no verifier would accept", async () => {
    await expect(createAuthority({ commonName: "x".repeat(65) })).rejects.toMatchObject({ code: "DB_CERT_ISSUE" });
  });
});

describe("issueCertificate", () => {
  test("puts names and addresses where clients look for them", () => {
    const certificate = new X509Certificate(server.certificatePem);
    expect(certificate.checkHost("localhost")).toBe("localhost");
    expect(certificate.checkHost("a.example.test")).toBe("*.example.test");
    expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(certificate.checkIP("2001:db8::7")).toBe("2001:db8::7");
    expect(certificate.checkIssued(new X509Certificate(authority.certificatePem))).toBe(true);
    expect(certificate.ca).toBe(false);
  });

  test("gives every certificate its own sixteen-byte serial", async () => {
    const other = await issueCertificate(authority, { use: "client", commonName: "agent" });
    const serials = [authority, server, other].map((pem) => new X509Certificate(pem.certificatePem).serialNumber);
    expect(new Set(serials).size).toBe(3);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  test.each([
    ["server", ["1.3.6.1.5.5.7.3.1"]],
    ["client", ["1.3.6.1.5.5.7.3.2"]],
    ["both", ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]],
  ] as const)("limits a %s certificate to its purpose", async (profile, usages) => {
    const pem = await issueCertificate(authority, { use: profile, commonName: "x", dnsNames: ["x.test"] });
    expect(new X509Certificate(pem.certificatePem).keyUsage).toEqual(usages);
  });

  test("never lets a certificate outlive its authority", async () => {
    const short = await createAuthority({ commonName: "short", validForMs: 60_000, now });
    const pem = await issueCertificate(short, { use: "client", commonName: "agent", now });
    expect(new X509Certificate(pem.certificatePem).validTo).toBe(new X509Certificate(short.certificatePem).validTo);
    const later = new Date(now.getTime() + 120_000);
    await expect(issueCertificate(short, { use: "client", commonName: "agent", now: later })).rejects.toThrow(
      /expired/,
    );
  });

  test.each([
    [{ dnsNames: ["10.0.0.1"] }, /not a DNS name/],
    [{ dnsNames: ["under_score.test"] }, /not a DNS name/],
    [{ ipAddresses: ["example.test"] }, /not an IP address/],
    [{ ipAddresses: ["fe80::1%eth0"] }, /not an IP address/],
    [{}, /at least one DNS name/],
    [{ dnsNames: ["a.test"], validForMs: 0 }, /at least one second/],
  ])("refuses %j", async (part, sentence) => {
    await expect(issueCertificate(authority, { use: "server", commonName: "x", ...part })).rejects.toThrow(sentence);
  });

  test("signs with an authority that was stored and loaded again", async () => {
    for (const key of ["p256", "rsa2048"] as const) {
      const made = await createAuthority({ commonName: `stored ${key}`, key });
      const loaded = await loadAuthority({ certificatePem: made.certificatePem, privateKeyPem: made.privateKeyPem });
      const pem = await issueCertificate(loaded, { use: "client", commonName: "agent" });
      const parent = new X509Certificate(made.certificatePem);
      expect(new X509Certificate(pem.certificatePem).verify(parent.publicKey)).toBe(true);
    }
    await expect(loadAuthority(server)).rejects.toThrow(/not an authority/);
  });

  test("names an authority exactly as it names itself, odd characters included", async () => {
    const odd = await createAuthority({ commonName: oddName });
    const pem = await issueCertificate(odd, { use: "client", commonName: "agent" });
    const certificate = new X509Certificate(pem.certificatePem);
    const parent = new X509Certificate(odd.certificatePem);
    expect(certificate.issuer).toBe(parent.subject);
    expect(certificate.checkIssued(parent)).toBe(true);
  });

  test("is accepted by both ends of a mutual TLS handshake", async () => {
    const client = await issueCertificate(authority, {
      use: "client",
      commonName: "agent",
      organizations: ["a, b"],
    });
    const ca = authority.certificatePem;
    const accepted = new Promise<string>((resolve, reject) => {
      const listener = createServer(
        { ca, cert: server.certificatePem, key: server.privateKeyPem, requestCert: true },
        (socket: TLSSocket) => {
          resolve(`${socket.authorized} ${socket.getPeerCertificate().subject.O}`);
          socket.end();
          listener.close();
        },
      ).listen(0, "127.0.0.1", () => {
        const { port } = listener.address() as { port: number };
        connect({ port, host: "127.0.0.1", ca, cert: client.certificatePem, key: client.privateKeyPem })
          .on("error", reject)
          .resume();
      });
    });
    expect(await accepted).toBe("true a, b");
  });
});

describe.skipIf(!hasOpenssl)("as openssl sees it", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "drawbridge-pki-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  function text(pem: string): string {
    return execFileSync("openssl", ["x509", "-noout", "-text"], { input: pem, encoding: "utf8" });
  }

  test.each(["p256", "rsa2048"] as const)("a %s chain verifies for its purpose and no other", async (key) => {
    const ca = await createAuthority({ commonName: "ca", key });
    const leaf = await issueCertificate(ca, { use: "client", commonName: "agent", key });
    writeFileSync(join(dir, "ca.crt"), ca.certificatePem);
    writeFileSync(join(dir, "leaf.crt"), leaf.certificatePem);
    const verify = (purpose: string) =>
      spawnSync(
        "openssl",
        ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", join(dir, "ca.crt"), join(dir, "leaf.crt")],
        { encoding: "utf8" },
      );
    expect(verify("sslclient")).toMatchObject({ status: 0 });
    expect(verify("sslserver").status).not.toBe(0);
  });

  test("the authority may sign certificates and revocation lists, one level deep", () => {
    const seen = text(authority.certificatePem);
    expect(seen).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(seen).toMatch(/Key Usage: critical\s+Digital Signature, Certificate Sign, CRL Sign/);
    expect(seen).toContain("ecdsa-with-SHA256");
    expect(seen).toContain("Subject Key Identifier");
  });

  test("a leaf points to its authority's key and carries both kinds of names", () => {
    const keyId = /Subject Key Identifier: \s+([0-9A-F:]+)/.exec(text(authority.certificatePem))?.[1];
    const seen = text(server.certificatePem);
    expect(keyId).toBeDefined();
    expect(/Authority Key Identifier: \s+(?:keyid:)?([0-9A-F:]+)/.exec(seen)?.[1]).toBe(keyId);
    expect(seen).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(seen).toMatch(/Key Usage: critical\s+Digital Signature\n/);
    expect(seen).toContain("DNS:localhost, DNS:*.example.test, IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:7");
  });
});

/** The hosted profile as openssl and a HyperShift would read it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openssl, opensslAvailable, show, verifies } from "../testing/openssl.js";
import { certificatesFor, writePki } from "../write-pki.js";

const options = { namespace: "clusters-one", externalAddresses: ["konnectivity.example.test", "192.0.2.7"] };
const day = 24 * 3_600_000;
const scratch = mkdtempSync(join(tmpdir(), "drawbridge-hosted-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const service = (name: string) =>
  `DNS:${name}, DNS:${name}.clusters-one.svc, DNS:${name}.clusters-one.svc.cluster.local`;
const [serverAuth, clientAuth] = ["TLS Web Server Authentication", "TLS Web Client Authentication"];

/** Name, CN, usage, names: the table of the reference. */
const leaves: [string, string, string, string | undefined][] = [
  [
    "konnectivity-server",
    "konnectivity-server-local",
    serverAuth,
    `DNS:localhost, ${service("konnectivity-server-local")}, IP Address:127.0.0.1`,
  ],
  [
    "konnectivity-cluster",
    "konnectivity-server",
    serverAuth,
    `${service("konnectivity-server")}, DNS:konnectivity.example.test, IP Address:192.0.2.7`,
  ],
  ["konnectivity-client", "konnectivity-client", clientAuth, undefined],
  ["konnectivity-agent", "konnectivity-agent", clientAuth, undefined],
];

describe.skipIf(!opensslAvailable()).each([
  ["each role its own signer", false],
  ["one signer, as a HyperShift has it", true],
])("%s", (_, sharedSigner) => {
  const dir = join(scratch, String(sharedSigner));
  const at = (name: string) => join(dir, name);

  beforeAll(async () => {
    await writePki(dir, await certificatesFor("hosted", { ...options, sharedSigner }), { keepSignerKeys: true });
  }, 60_000);

  test.each(leaves)("%s has the subject, usage, names and year of the reference", (name, commonName, usage, names) => {
    const shown = show(at(`${name}.crt`));
    expect(shown.subject).toBe(`CN=${commonName},O=kubernetes`);
    expect(shown.extensions["Extended Key Usage"]).toBe(usage);
    expect(shown.extensions["Subject Alternative Name"]).toBe(names);
    const backdated = sharedSigner ? 0 : 5 * 60_000;
    expect(shown.notAfter.getTime() - shown.notBefore.getTime()).toBe(365 * day + backdated);
  });

  test("servers' certificates verify for clients and agents, and clients' and agents' for the ports they use", () => {
    for (const server of ["konnectivity-server", "konnectivity-cluster"]) {
      expect(verifies(at(`${server}.crt`), at("konnectivity-ca-bundle.crt"), "sslserver")).toBe(true);
    }
    expect(verifies(at("konnectivity-client.crt"), at("konnectivity-client-ca-bundle.crt"), "sslclient")).toBe(true);
    expect(verifies(at("konnectivity-agent.crt"), at("konnectivity-agent-ca-bundle.crt"), "sslclient")).toBe(true);
  });

  test("a certificate is trusted on another role's port only where one signer signed all", () => {
    expect(verifies(at("konnectivity-client.crt"), at("konnectivity-agent-ca-bundle.crt"), "sslclient")).toBe(
      sharedSigner,
    );
    expect(verifies(at("konnectivity-agent.crt"), at("konnectivity-client-ca-bundle.crt"), "sslclient")).toBe(
      sharedSigner,
    );
  });
});

describe.skipIf(!opensslAvailable())("with one signer", () => {
  const at = (name: string) => join(scratch, "true", name);

  test("keys are RSA in PKCS #1, the signer's too: a HyperShift reads no others", () => {
    for (const name of ["konnectivity-signer", ...leaves.map(([leaf]) => leaf)]) {
      expect(readFileSync(at(`${name}.key`), "utf8")).toMatch(/^-----BEGIN RSA PRIVATE KEY-----/);
      expect(show(at(`${name}.crt`)).publicKey).toBe("2048 bit");
    }
  });

  test("the signer has its subject and ten years", () => {
    const shown = show(at("konnectivity-signer.crt"));
    expect(shown.subject).toBe("CN=konnectivity-signer,OU=kubernetes");
    expect(shown.notAfter.getTime() - shown.notBefore.getTime()).toBe(3650 * day);
  });
});

describe.skipIf(!opensslAvailable())("with a signer for each role", () => {
  const at = (name: string) => join(scratch, "false", name);

  test("control-plane agents and workers' agents have different signers, and the server trusts both", () => {
    const bundle = at("konnectivity-agent-ca-bundle.crt");
    const agents = ["konnectivity-agent", "konnectivity-control-plane-agent"];
    const issuers = agents.map((name) => openssl("x509", "-in", at(`${name}.crt`), "-noout", "-issuer"));
    expect(new Set(issuers).size).toBe(2);
    for (const name of agents) expect(verifies(at(`${name}.crt`), bundle, "sslclient")).toBe(true);
    expect(verifies(at("konnectivity-agent.crt"), at("konnectivity-control-plane-agent-signer.crt"), "sslclient")).toBe(
      false,
    );
  });
});

describe("the hosted profile refuses", () => {
  test.each([
    [{ ...options, namespace: "Clusters" }, /not a namespace/],
    [{ ...options, externalAddresses: [] }, /address .* is missing/],
    [{ ...options, externalAddresses: ["not_a_name"] }, /not a DNS name/],
    [{ ...options, sharedSigner: true, key: "p256" as const }, /RSA keys only/],
  ])("%j", async (wrong, sentence) => {
    await expect(certificatesFor("hosted", wrong)).rejects.toMatchObject({
      code: "DB_CERT_ISSUE",
      message: expect.stringMatching(sentence),
    });
  });
});

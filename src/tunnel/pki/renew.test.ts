import { X509Certificate } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readPkiManifest } from "./manifest.js";
import { addCertificate, renewPki } from "./renew.js";
import { opensslAvailable, verifies } from "./testing/openssl.js";
import { certificatesFor, writePki } from "./write-pki.js";

const hour = 3_600_000;
const start = new Date();
const later = (ms: number) => new Date(start.getTime() + ms);
let scratch: string;
let dir: string;
const read = (name: string) => readFileSync(join(dir, name), "utf8");
const parsed = (name: string) => new X509Certificate(read(name));

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-renew-"));
  dir = join(scratch, "tls");
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

async function bootstrap(keepSignerKeys = true): Promise<void> {
  await writePki(dir, await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] }, start), { keepSignerKeys });
}

describe("renewPki", () => {
  test("leaves alone what has more than a third of its life left", async () => {
    await bootstrap();
    const before = read("server.crt");
    expect(await renewPki(dir, { now: later(15 * hour) })).toMatchObject({ renewed: [], extended: [] });
    expect(read("server.crt")).toBe(before);
  });

  test("issues again what is due, with new keys, and lets the signer live on with its old one", async () => {
    await bootstrap();
    const [oldCa, oldServer, oldKey] = ["ca.crt", "server.crt", "server.key"].map(read);
    const now = later(17 * hour);
    expect(await renewPki(dir, { now })).toMatchObject({ renewed: ["server", "agent"], extended: ["ca"] });
    expect(read("server.key")).not.toBe(oldKey);
    const [ca, server] = [parsed("ca.crt"), parsed("server.crt")];
    expect(Math.abs(Date.parse(server.validTo) - later(41 * hour).getTime())).toBeLessThan(1000);
    // Who still has the old authority accepts the new server, and the other way round.
    expect(server.verify(new X509Certificate(oldCa!).publicKey)).toBe(true);
    expect(new X509Certificate(oldServer!).checkIssued(ca)).toBe(true);
    expect(server.subjectAltName).toBe("IP Address:192.0.2.1");
    expect((await readPkiManifest(dir))?.leaves[0]?.notAfter).toBe(new Date(server.validTo).toISOString());
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toHaveLength(7);
  });

  test("leaves a key readable by the group that somebody gave it to", async () => {
    await bootstrap();
    chmodSync(join(dir, "server.key"), 0o640);
    await renewPki(dir, { all: true, now: later(0) });
    expect(statSync(join(dir, "server.key")).mode & 0o777).toBe(0o640);
    expect(statSync(join(dir, "agent.key")).mode & 0o777).toBe(0o600);
  });

  test.skipIf(!opensslAvailable())("makes chains that openssl accepts, old and new", async () => {
    await bootstrap();
    writeFileSync(join(scratch, "old-ca.crt"), read("ca.crt"));
    await renewPki(dir, { all: true, now: later(0) });
    for (const ca of [join(dir, "ca.crt"), join(scratch, "old-ca.crt")]) {
      expect(verifies(join(dir, "server.crt"), ca, "sslserver")).toBe(true);
    }
  });

  test("heals a pair of which only one half was replaced", async () => {
    await bootstrap();
    writeFileSync(join(dir, "agent.key"), read("server.key"));
    expect(await renewPki(dir, { now: start })).toMatchObject({ renewed: ["agent"] });
    expect(await renewPki(dir, { now: start })).toMatchObject({ renewed: [] });
  });

  test("renews a year's certificates without touching a signer of ten years", async () => {
    const options = { namespace: "a", externalAddresses: ["b.test"] };
    await writePki(dir, await certificatesFor("hosted", options, start), { keepSignerKeys: true });
    const before = read("konnectivity-ca-bundle.crt");
    const { renewed, extended } = await renewPki(dir, { now: later(300 * 24 * hour) });
    expect([renewed.length, extended]).toEqual([5, []]);
    expect(read("konnectivity-ca-bundle.crt")).toBe(before);
  });

  test("writes a signer that was extended into every bundle", async () => {
    const options = { namespace: "a", externalAddresses: ["b.test"] };
    await writePki(dir, await certificatesFor("hosted", options, start), { keepSignerKeys: true });
    await renewPki(dir, { now: later(3000 * 24 * hour) });
    expect(read("konnectivity-agent-ca-bundle.crt")).toBe(
      read("konnectivity-agent-signer.crt") + read("konnectivity-control-plane-agent-signer.crt"),
    );
  });

  test("says that the whole set must be made again when the signer's key is gone", async () => {
    await bootstrap(false);
    const before = read("server.crt");
    await expect(renewPki(dir, { all: true })).rejects.toMatchObject({
      code: "DB_PKI_SIGNER_KEY",
      remedy: expect.stringContaining("pki init --replace"),
    });
    expect(read("server.crt")).toBe(before);
  });

  test("refuses a directory without a manifest", async () => {
    await expect(renewPki(scratch)).rejects.toMatchObject({ code: "DB_PKI_MANIFEST" });
  });
});

describe("addCertificate", () => {
  test("issues one more node's agent, which later renewals know", async () => {
    await bootstrap();
    const { added } = await addCertificate(dir, { node: "node-3", now: start });
    expect(added).toMatchObject({ name: "agent-node-3", use: "client", organizations: ["drawbridge"] });
    expect(parsed("agent-node-3.crt").checkIssued(parsed("ca.crt"))).toBe(true);
    expect(parsed("agent-node-3.crt").subjectAltName).toBe("DNS:node-3");
    expect((await renewPki(dir, { now: later(20 * hour) })).renewed).toContain("agent-node-3");
  });

  test("asks which signer to use, and issues nothing that outlives it", async () => {
    const options = { namespace: "a", externalAddresses: ["b.test"] };
    await writePki(dir, await certificatesFor("hosted", options, start), { keepSignerKeys: true });
    const request = { name: "probe", use: "client", commonName: "probe", dnsNames: [], ipAddresses: [] } as const;
    await expect(addCertificate(dir, request)).rejects.toThrow(
      /say which signer shall sign: konnectivity-server-signer, /,
    );
    await addCertificate(dir, { ...request, signer: "konnectivity-client-signer", validForMs: 5000 * 24 * hour });
    expect(parsed("probe.crt").validTo).toBe(parsed("konnectivity-client-signer.crt").validTo);
  });

  test("does not overwrite a certificate unless replace is given, and never a signer", async () => {
    await bootstrap();
    await addCertificate(dir, { node: "a" });
    await expect(addCertificate(dir, { node: "a" })).rejects.toMatchObject({ code: "DB_PKI_EXISTS" });
    await addCertificate(dir, { node: "a", replace: true });
    const ca = { name: "ca", use: "client", commonName: "ca", dnsNames: [], ipAddresses: [], replace: true } as const;
    await expect(addCertificate(dir, ca)).rejects.toMatchObject({ code: "DB_PKI_EXISTS" });
    await expect(addCertificate(dir, { ...ca, name: "../x" })).rejects.toMatchObject({ code: "DB_CERT_ISSUE" });
  });

  test("fails without the signer's key", async () => {
    await bootstrap(false);
    await expect(addCertificate(dir, { node: "a" })).rejects.toMatchObject({ code: "DB_PKI_SIGNER_KEY" });
  });
});

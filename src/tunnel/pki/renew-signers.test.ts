import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inspectPath } from "./inspect/inspect.js";
import { certificatesIn } from "./pem.js";
import { addCertificate, dropFormerSigners, renewPki, replaceSigners } from "./renew.js";
import { opensslAvailable, verifies } from "./testing/openssl.js";
import { certificatesFor, writePki } from "./write-pki.js";

const LEAVES = ["server", "cluster", "client", "agent", "control-plane-agent"].map((role) => `konnectivity-${role}`);
const BUNDLES = ["konnectivity-ca-bundle", "konnectivity-agent-ca-bundle", "konnectivity-client-ca-bundle"];

let scratch: string;
let dir: string;
const read = (name: string) => readFileSync(join(dir, name), "utf8");
const serialOf = (name: string) => new X509Certificate(read(`${name}.crt`)).serialNumber;
const inBundle = (name: string) => certificatesIn(read(`${name}.crt`)).length;

beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-signers-"));
  dir = join(scratch, "tls");
  await make({});
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

async function make(options: { sharedSigner?: boolean; keepSignerKeys?: boolean }): Promise<void> {
  const { keepSignerKeys = true, ...rest } = options;
  rmSync(dir, { recursive: true, force: true });
  const wanted = { namespace: "a", externalAddresses: ["b.test"], ...rest };
  await writePki(dir, await certificatesFor("hosted", wanted), { keepSignerKeys });
}

describe("a change of signers", () => {
  test("first adds the new signers to what is trusted, and leaves certificates alone", async () => {
    const serials = LEAVES.map(serialOf);
    const former = read("konnectivity-server-signer.crt");
    const { replaced, former: still } = await replaceSigners(dir);
    expect(replaced).toHaveLength(4);
    expect(still).toHaveLength(4);
    expect(still[0]).toMatch(/^konnectivity-server-signer \(until \d{4}-.*Z\)$/);
    expect(LEAVES.map(serialOf)).toEqual(serials);
    expect(read("konnectivity-ca-bundle.crt")).toBe(read("konnectivity-server-signer.crt") + former);
    expect(BUNDLES.map(inBundle)).toEqual([2, 4, 2]);
    expect(statSync(join(dir, "konnectivity-server-signer.key")).mode & 0o777).toBe(0o600);
  });

  test("then issues again, by the new signers, what the former ones signed", async () => {
    await replaceSigners(dir);
    const { renewed, former } = await renewPki(dir);
    expect(renewed).toEqual(LEAVES);
    expect(former).toHaveLength(4);
    expect(BUNDLES.map(inBundle)).toEqual([2, 4, 2]);
    expect(await renewPki(dir)).toMatchObject({ renewed: [], extended: [] });
  });

  test("at last drops the former ones, and then there is nothing more to drop", async () => {
    await replaceSigners(dir);
    await renewPki(dir);
    expect((await dropFormerSigners(dir)).dropped).toHaveLength(4);
    expect(BUNDLES.map(inBundle)).toEqual([1, 2, 1]);
    expect(await dropFormerSigners(dir)).toMatchObject({ dropped: [] });
    const { findings } = await inspectPath(dir, { caFiles: [], now: new Date() });
    expect(findings.filter(({ state }) => state === "failed")).toEqual([]);
  });

  test.skipIf(!opensslAvailable())("keeps every chain good for everyone at each step, as openssl sees it", async () => {
    const bundle = join(dir, "konnectivity-ca-bundle.crt");
    const copies: string[] = [];
    const copy = (name: string) => {
      const file = join(scratch, `${copies.length}-${name}.crt`);
      writeFileSync(file, read(`${name}.crt`));
      copies.push(file);
      return file;
    };
    const [oldServer, oldBundle] = [copy("konnectivity-cluster"), copy("konnectivity-ca-bundle")];
    await replaceSigners(dir);
    expect(verifies(oldServer, bundle, "sslserver")).toBe(true);
    const overlap = copy("konnectivity-ca-bundle");
    await renewPki(dir);
    const newServer = join(dir, "konnectivity-cluster.crt");
    for (const server of [oldServer, newServer]) expect(verifies(server, overlap, "sslserver")).toBe(true);
    // This is why step one exists: who missed it does not trust the new signer.
    expect(verifies(newServer, oldBundle, "sslserver")).toBe(false);
    await dropFormerSigners(dir);
    expect(verifies(newServer, bundle, "sslserver")).toBe(true);
    expect(verifies(oldServer, bundle, "sslserver")).toBe(false);
  });

  test("is refused its next step, and a new start, while certificates of former signers are in use", async () => {
    await replaceSigners(dir);
    const refusal = { code: "DB_PKI_ROTATION", message: expect.stringContaining("konnectivity-cluster") };
    await expect(dropFormerSigners(dir)).rejects.toMatchObject(refusal);
    await expect(replaceSigners(dir)).rejects.toMatchObject(refusal);
    expect(BUNDLES.map(inBundle)).toEqual([2, 4, 2]);
  });

  // Ten RSA keys, which take as long as luck and the machine will have it.
  test("works for one shared signer, in the key format of its peers", async () => {
    await make({ sharedSigner: true });
    await replaceSigners(dir);
    expect(read("konnectivity-signer.key")).toContain("BEGIN RSA PRIVATE KEY");
    expect((await renewPki(dir)).renewed).toHaveLength(4);
    await dropFormerSigners(dir);
    expect(BUNDLES.map(inBundle)).toEqual([1, 1, 1]);
  }, 60_000);

  test("needs kept keys, and a set with bundles", async () => {
    await make({ keepSignerKeys: false });
    await expect(replaceSigners(dir)).rejects.toMatchObject({ code: "DB_PKI_SIGNER_KEY" });
    rmSync(dir, { recursive: true });
    const bridge = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] });
    await writePki(dir, bridge, { keepSignerKeys: true });
    await expect(replaceSigners(dir)).rejects.toMatchObject({
      code: "DB_PKI_ROTATION",
      message: expect.stringContaining("init --replace"),
    });
  });

  test("recovers when it was cut short between a signer's key and its certificate", async () => {
    const former = read("konnectivity-agent-signer.crt");
    await replaceSigners(dir);
    writeFileSync(join(dir, "konnectivity-agent-signer.crt"), former);
    const request = { name: "x", use: "client", commonName: "x", dnsNames: [], ipAddresses: [] } as const;
    const signer = "konnectivity-agent-signer";
    await expect(addCertificate(dir, { ...request, signer })).rejects.toMatchObject({ code: "DB_PKI_SIGNER_PAIR" });
    // The others are renewed; the signer that was interrupted still matches its certificate.
    expect((await renewPki(dir)).renewed).not.toContain("konnectivity-agent");
    await replaceSigners(dir);
    expect((await renewPki(dir)).renewed).toEqual(LEAVES);
    await addCertificate(dir, { ...request, signer });
  });
});

describe("a signer that somebody replaced by hand", () => {
  test("gets into the bundles beside the former one, and its certificates are issued again", async () => {
    const other = join(scratch, "other");
    const wanted = { namespace: "a", externalAddresses: ["b.test"] };
    await writePki(other, await certificatesFor("hosted", wanted), { keepSignerKeys: true });
    for (const ending of ["crt", "key"]) {
      const file = `konnectivity-client-signer.${ending}`;
      writeFileSync(join(dir, file), readFileSync(join(other, file)));
    }
    expect(await renewPki(dir)).toMatchObject({ renewed: ["konnectivity-client"], former: [expect.any(String)] });
    expect(BUNDLES.map(inBundle)).toEqual([1, 2, 2]);
    const leaf = new X509Certificate(read("konnectivity-client.crt"));
    expect(leaf.verify(new X509Certificate(read("konnectivity-client-signer.crt")).publicKey)).toBe(true);
  });
});

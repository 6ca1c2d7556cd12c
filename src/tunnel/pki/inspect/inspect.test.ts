/** Each thing that can be wrong with certificates, made really wrong. */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuthority, extendAuthority, issueCertificate } from "../issue.js";
import { opensslAvailable } from "../testing/openssl.js";
import { certificatesFor, type IssuedPki, writePki } from "../write-pki.js";
import { type InspectOptions, inspectPath } from "./inspect.js";

const hour = 3_600_000;
const now = new Date();
const at = (ms: number) => new Date(now.getTime() + ms);
let issued: IssuedPki;
let foreign: IssuedPki;
let sameName: IssuedPki;
let scratch: string;
let dir: string;

beforeAll(async () => {
  issued = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1", "2001:db8::1"] }, now);
  foreign = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"], organization: "other" }, now);
  sameName = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] }, now);
});
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-inspect-"));
  dir = join(scratch, "tls");
  await writePki(dir, issued);
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const put = (name: string, text: string) => writeFileSync(join(dir, name), text, { mode: 0o600 });

/** The same certificate but for the last byte of its signature. */
function tampered(pem: string): string {
  const der = Buffer.from(new X509Certificate(pem).raw);
  der[der.length - 1]! ^= 1;
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
}

/** `state rule file`, sorted. */
async function found(options: InspectOptions = {}, path = dir): Promise<string[]> {
  const { findings } = await inspectPath(path, { now, ...options });
  for (const { message, remedy } of findings) {
    expect(message).not.toMatch(/undefined|\.$/);
    expect(remedy).toMatch(/\.$/);
  }
  return findings.map(({ check, state, subject }) => `${state} ${check} ${subject?.split("/").at(-1)}`).sort();
}

describe("a good set", () => {
  test("has nothing wrong, whichever of its addresses agents dial", async () => {
    for (const address of ["192.0.2.1", "2001:DB8:0::1"]) expect(await found({ address })).toEqual([]);
  });

  test("is described: chain, names, usage, keys, time left, modes", async () => {
    const { set, certificates } = await inspectPath(dir, { now });
    expect(set).toMatchObject({ profile: "bootstrap", signerKeysKept: false });
    expect(certificates.map(({ file }) => file.split("/").at(-1))).toEqual(["agent.crt", "ca.crt", "server.crt"]);
    expect(certificates[2]).toMatchObject({
      subject: "CN=konnectivity-server,O=drawbridge",
      chain: ["CN=konnectivity-server,O=drawbridge", "CN=konnectivity-signer,O=drawbridge"],
      names: ["IP:192.0.2.1", "IP:2001:db8::1"],
      usages: ["serverAuth"],
      keyUsages: ["digitalSignature"],
      key: "P-256",
      signatureHash: "SHA-256",
      use: "server",
      mode: "0600",
      keyFile: join(dir, "server.key"),
      keyMode: "0600",
      keyMatches: true,
      fipsObjection: undefined,
    });
    expect(Math.round(certificates[2]!.endsInMs / 60_000)).toBe(24 * 60);
    expect(certificates[1]).toMatchObject({ isAuthority: true, pathLength: 0, use: "signer", usages: undefined });
  });

  test("a single file is judged with what lies beside it", async () => {
    expect(await found({ address: "192.0.2.1" }, join(dir, "server.crt"))).toEqual([]);
  });
});

describe("what is wrong", () => {
  test.each<[string, () => void, InspectOptions, string[]]>([
    [
      "expired",
      () => {},
      { now: at(25 * hour) },
      ["failed expired agent.crt", "failed expired ca.crt", "failed expired server.crt"],
    ],
    [
      "a clock that is behind",
      () => {},
      { now: at(-3 * hour) },
      ["failed not-yet-valid agent.crt", "failed not-yet-valid ca.crt", "failed not-yet-valid server.crt"],
    ],
    [
      "the last third",
      () => {},
      { now: at(17 * hour) },
      ["warning expires-soon agent.crt", "warning expires-soon ca.crt", "warning expires-soon server.crt"],
    ],
    ["an address it lacks", () => {}, { address: "192.0.2.9" }, ["failed address server.crt"]],
    ["a name it lacks", () => {}, { address: "bootstrap.test" }, ["failed address server.crt"]],
    [
      "a key of another certificate",
      () => copyFileSync(join(dir, "agent.key"), join(dir, "server.key")),
      {},
      ["failed key-mismatch server.crt"],
    ],
    [
      "an agent's certificate for the server",
      () => {
        for (const end of ["crt", "key"]) copyFileSync(join(dir, `agent.${end}`), join(dir, `server.${end}`));
      },
      {},
      ["failed usage server.crt"],
    ],
    [
      "an authority of the same name that did not sign",
      () => put("ca.crt", sameName.signers.get("ca")!.certificatePem),
      {},
      ["failed chain agent.crt", "failed chain server.crt"],
    ],
    [
      "another authority",
      () => put("ca.crt", foreign.signers.get("ca")!.certificatePem),
      {},
      ["failed chain agent.crt", "failed chain server.crt"],
    ],
    [
      "a signature that was tampered with",
      () => put("agent.crt", tampered(issued.leaves.get("agent")!.certificatePem)),
      {},
      ["failed chain agent.crt"],
    ],
    ["a key for everyone", () => chmodSync(join(dir, "server.key"), 0o644), {}, ["failed key-readable server.key"]],
    ["a key for the group", () => chmodSync(join(dir, "server.key"), 0o640), {}, ["warning key-readable server.key"]],
    [
      "the signer's key left behind",
      () => put("ca.key", issued.signers.get("ca")!.privateKeyPem),
      {},
      ["failed signer-key ca.key"],
    ],
    [
      "a file that is gone",
      () => rmSync(join(dir, "agent.key")),
      {},
      ["failed incomplete agent.key", "warning key-missing agent.crt"],
    ],
    ["a file that is no PEM", () => put("agent.crt", "hello"), {}, ["failed unreadable agent.crt"]],
    [
      "a torn certificate",
      () => put("agent.crt", readFileSync(join(dir, "agent.crt"), "utf8").replace(/^MI.{20}/m, "MIIA")),
      {},
      ["failed unreadable agent.crt"],
    ],
  ])("%s", async (_, spoil, options, expected) => {
    spoil();
    expect(await found(options)).toEqual(expected);
  });

  test("remedies name the command for this directory", async () => {
    const { findings } = await inspectPath(dir, { now, address: "192.0.2.9" });
    expect(findings[0]?.remedy).toContain(`drawbridge pki init --replace --dir ${dir} --ip 192.0.2.9`);
    expect(findings[0]?.message).toContain("IP:192.0.2.1, IP:2001:db8::1");
    const late = await inspectPath(dir, { now: at(30 * hour) });
    expect(late.findings[0]).toMatchObject({
      message: expect.stringMatching(/^it expired 6 h ago, on /),
      remedy: expect.stringContaining("pki init --replace"),
    });
    const early = await inspectPath(dir, { now: at(-3 * hour) });
    expect(early.findings[0]?.remedy).toContain(at(-3 * hour).toISOString());
  });

  test("a signer's key that was kept on purpose is only worth knowing, and renewing is the remedy", async () => {
    await writePki(dir, issued, { keepSignerKeys: true, replace: true });
    expect(await found()).toEqual(["warning signer-key ca.key"]);
    const { findings } = await inspectPath(dir, { now: at(25 * hour) });
    expect(findings[0]?.remedy).toContain("pki renew --all");
  });
});

describe("certificates of other makers", () => {
  beforeEach(() => {
    rmSync(dir, { recursive: true });
    mkdirSync(dir);
  });

  test("an authority can be given beside the file", async () => {
    put("tls.crt", issued.leaves.get("server")!.certificatePem);
    put("tls.key", issued.leaves.get("server")!.privateKeyPem);
    const file = join(dir, "tls.crt");
    expect(await found({}, file)).toEqual(["warning chain-unknown tls.crt"]);
    writeFileSync(
      join(scratch, "bundle.pem"),
      foreign.signers.get("ca")!.certificatePem + issued.signers.get("ca")!.certificatePem,
    );
    expect(await found({ caFiles: [join(scratch, "bundle.pem")] }, file)).toEqual([]);
  });

  test("a leaf that outlives its signer is reported before it fails", async () => {
    const signer = await createAuthority({ commonName: "ca", validForMs: 48 * hour, now });
    const leaf = await issueCertificate(signer, { use: "client", commonName: "a", validForMs: 48 * hour, now });
    put("client.crt", leaf.certificatePem);
    put("client.key", leaf.privateKeyPem);
    // The same signer with a shorter life, as when a bundle was not handed out again after a renewal.
    put("ca.crt", (await extendAuthority(signer, { commonName: "ca", validForMs: 24 * hour, now })).certificatePem);
    expect(await found()).toEqual(["warning outlives-signer client.crt"]);
  });

  test.skipIf(!opensslAvailable()).each<[string, string[], string]>([
    ["RSA-1024", ["-newkey", "rsa:1024", "-sha256"], "fips"],
    ["SHA-1", ["-newkey", "rsa:2048", "-sha1"], "fips"],
    ["Ed25519", ["-newkey", "ed25519"], "fips"],
    ["no right to sign", ["-newkey", "rsa:2048", "-addext", "keyUsage=critical,digitalSignature"], "may-not-sign"],
  ])("%s is noticed", async (_, args, id) => {
    const made = join(dir, "ca.crt");
    const common = ["-x509", "-nodes", "-days", "1", "-subj", "/CN=x", "-keyout", join(scratch, "x.key"), "-out", made];
    execFileSync("openssl", ["req", ...common, ...args], { stdio: "ignore" });
    const { findings } = await inspectPath(made);
    expect(findings.map((finding) => finding.check)).toContain(id);
  });

  test("an encrypted key is reported, and files that are not PEM are passed over", async () => {
    put("server.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n");
    put("notes.txt", "hello");
    mkdirSync(join(dir, "folder.crt"));
    expect(await found()).toEqual(["failed unreadable server.key"]);
  });

  test("a path that is not there or no PEM is refused with one sentence", async () => {
    await expect(inspectPath(join(dir, "nope"))).rejects.toMatchObject({ code: "DB_CERT_MISSING" });
    put("x", "hello");
    await expect(inspectPath(join(dir, "x"))).rejects.toMatchObject({ code: "DB_CERT_NOT_PEM" });
  });

  test("a bare file says nothing about an address when it is no server's", async () => {
    put("agent.crt", issued.leaves.get("agent")!.certificatePem);
    put("ca.crt", issued.signers.get("ca")!.certificatePem);
    expect(await found({ address: "192.0.2.1" })).toEqual(["warning address tls", "warning key-missing agent.crt"]);
  });
});

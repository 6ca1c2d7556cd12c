import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pkiDifferences, readPkiManifest } from "./manifest.js";
import type { BootstrapOptions, ProfileName } from "./profiles.js";
import { certificatesFor, type IssuedPki, writePki } from "./write-pki.js";

const options = { ipAddresses: ["192.0.2.1"] };
let issued: IssuedPki;
let other: IssuedPki;
let scratch: string;
let dir: string;

beforeAll(async () => {
  issued = await certificatesFor("bootstrap", options);
  other = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.2"] });
});
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-write-pki-"));
  dir = join(scratch, "made", "tls");
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const whole = ["agent.crt", "agent.key", "ca.crt", "pki.json", "server.crt", "server.key"];
const read = (name: string) => readFileSync(join(dir, name), "utf8");

describe("writePki", () => {
  test("writes all files for their owner only, and no signer's key", async () => {
    await writePki(dir, issued);
    expect(readdirSync(dir).sort()).toEqual(whole);
    for (const name of whole) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const secret = issued.signers.get("ca")!.privateKeyPem;
    for (const name of whole) expect(read(name)).not.toContain(secret.split("\n")[1]);
    expect(readdirSync(join(scratch, "made"))).toEqual(["tls"]);
  });

  test("keeps the signer's key when asked, and says so in the manifest", async () => {
    await writePki(dir, issued, { keepSignerKeys: true });
    expect(read("ca.key")).toBe(issued.signers.get("ca")!.privateKeyPem);
    expect(statSync(join(dir, "ca.key")).mode & 0o777).toBe(0o600);
    expect((await readPkiManifest(dir))?.signerKeysKept).toBe(true);
  });

  test("the manifest holds no secret", async () => {
    await writePki(dir, issued, { keepSignerKeys: true });
    expect(read("pki.json")).not.toMatch(/PRIVATE|BEGIN/);
  });

  test("takes an empty directory and follows a link to it", async () => {
    const real = join(scratch, "real");
    mkdirSync(real);
    symlinkSync(real, join(scratch, "link"));
    await writePki(join(scratch, "link"), issued);
    expect(readdirSync(real).sort()).toEqual(whole);
  });

  test("does not touch a set that exists unless replace is given", async () => {
    await writePki(dir, issued);
    const before = read("ca.crt");
    await expect(writePki(dir, other)).rejects.toMatchObject({ code: "DB_PKI_EXISTS" });
    expect(read("ca.crt")).toBe(before);
    await writePki(dir, other, { replace: true });
    expect(read("ca.crt")).toBe(other.signers.get("ca")!.certificatePem);
    expect(readdirSync(join(scratch, "made"))).toEqual(["tls"]);
  });

  test("replaces only its own files: a kept signer's key goes, what others put there stays", async () => {
    await writePki(dir, issued, { keepSignerKeys: true });
    writeFileSync(join(dir, "address.json"), "theirs");
    await writePki(dir, other, { replace: true });
    expect(readdirSync(dir).sort()).toEqual(["address.json", ...whole]);
    expect(read("address.json")).toBe("theirs");
  });

  test("never replaces a directory that is not its own", async () => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "precious"), "x");
    await expect(writePki(dir, issued, { replace: true })).rejects.toMatchObject({
      code: "DB_PKI_EXISTS",
      message: expect.stringContaining("not drawbridge's to replace"),
    });
    expect(readdirSync(dir)).toEqual(["precious"]);
  });

  test("leaves nothing behind when it fails", async () => {
    writeFileSync(join(scratch, "file"), "");
    await expect(writePki(join(scratch, "file"), issued)).rejects.toMatchObject({ code: "DB_CERT_WRITE" });
    await expect(writePki(join(scratch, "file", "tls"), issued)).rejects.toMatchObject({ code: "DB_CERT_WRITE" });
    expect(readdirSync(scratch)).toEqual(["file"]);
  });

  test.skipIf(process.getuid?.() === 0)("says so when the place is read-only", async () => {
    chmodSync(scratch, 0o500);
    await expect(writePki(join(scratch, "tls"), issued)).rejects.toMatchObject({ code: "DB_CERT_WRITE" });
    chmodSync(scratch, 0o700);
  });

  test("removes what a killed run left beside, and nothing of a running one", async () => {
    const { pid } = spawnSync("true");
    const left = join(scratch, "made", `.tls.new-${pid}-0123456789ab`);
    const alive = join(scratch, "made", `.tls.old-${process.ppid}-0123456789ab`);
    for (const folder of [left, alive]) mkdirSync(folder, { recursive: true });
    await writePki(dir, issued);
    expect([existsSync(left), existsSync(alive)]).toEqual([false, true]);
  });
});

describe("pkiDifferences", () => {
  const later = (ms: number) => new Date(Date.parse(issued.manifest.madeAt) + ms);
  const compare = async (...[profile, wanted, now]: [ProfileName, object, Date?]) =>
    pkiDifferences(dir, await writePki(dir, issued, { replace: true }), profile, wanted as never, now);

  test("finds none in the set that is wanted, whatever its lifetime", async () => {
    expect(await compare("bootstrap", options)).toEqual([]);
    expect(await compare("bootstrap", { ...options, validForMs: 3_600_000 })).toEqual([]);
  });

  test.each<[string, BootstrapOptions, RegExp]>([
    ["another address", { ipAddresses: ["192.0.2.9"] }, /server is for 192\.0\.2\.1, not for 192\.0\.2\.9/],
    ["one more address", { ipAddresses: ["192.0.2.1", "2001:db8::1"] }, /not for 192\.0\.2\.1, 2001:db8::1/],
    ["a node's own certificate", { ...options, nodes: ["a"] }, /agent-a is not in it/],
    ["another key", { ...options, key: "rsa2048" }, /its keys are p256, not rsa2048/],
    ["another organization", { ...options, organization: "openshift" }, /is named .*drawbridge, not .*openshift/],
  ])("names the difference: %s", async (_, wanted, why) => {
    expect((await compare("bootstrap", wanted)).join("; ")).toMatch(why);
  });

  test("notices a lost file, another profile and the last third of a life", async () => {
    expect(await compare("bootstrap", options, later(15 * 3_600_000))).toEqual([]);
    const late = await compare("bootstrap", options, later(17 * 3_600_000));
    expect(late).toContainEqual(expect.stringMatching(/^server ends /));
    expect(await compare("hosted", { namespace: "a", externalAddresses: ["b"] })).toEqual(["made for bootstrap"]);
    const manifest = await writePki(dir, issued, { replace: true });
    rmSync(join(dir, "agent.key"));
    expect(await pkiDifferences(dir, manifest, "bootstrap", options)).toEqual(["agent.key is missing"]);
  });
});

describe("readManifest", () => {
  test.each([
    ["{", /cannot be used/],
    ["null", /version is undefined/],
    ['{"version": 2}', /version is 2/],
    ['{"version": 1, "profile": "toString"}', /no known profile/],
    ['{"version": 1, "profile": "bootstrap", "options": {}}', /list of certificates is missing/],
    [
      '{"version": 1, "profile": "bootstrap", "options": {}, "signers": [{"name": "../../etc/x"}], "leaves": [], "bundles": []}',
      /no certificate's name/,
    ],
  ])("refuses %s with one sentence", async (text, sentence) => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "pki.json"), text);
    await expect(readPkiManifest(dir)).rejects.toMatchObject({
      code: "DB_PKI_MANIFEST",
      message: expect.stringMatching(sentence),
    });
  });
});

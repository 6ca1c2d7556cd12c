import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "./pki/issue.js";
import { startWarnings, warnFromNowOn } from "./start-warnings.js";

const NOTHING = { certFiles: [], keyFiles: [], adminTokenFile: "" };
const HOUR_MS = 3_600_000;
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-start-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function put(name: string, text: string, mode: number): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

test("a low limit of open files is named before it is reached", () => {
  expect(startWarnings({ ...NOTHING, openFiles: 1024 })).toEqual([]);
  expect(startWarnings({ ...NOTHING, openFiles: 256 })).toMatchObject([
    {
      code: "DB_OPEN_FILES",
      message: expect.stringContaining("only 256 files"),
      remedy: expect.stringContaining("ulimit -n"),
    },
  ]);
});

test("a certificate is named when it has expired, is not valid yet or ends soon, and not before", async () => {
  const { certificatePem } = await createAuthority({ commonName: "ca", validForMs: 30 * HOUR_MS, backdateMs: 0 });
  const file = put("ca.crt", certificatePem, 0o644);
  const said = (hours: number) =>
    startWarnings({ ...NOTHING, certFiles: [file, ""] }, new Date(Date.now() + hours * HOUR_MS));
  expect(said(1)).toEqual([]);
  expect(said(25)).toMatchObject([{ code: "DB_CERT_FILE", message: expect.stringMatching(/"CN=ca" .* expires in /) }]);
  expect(said(31)[0]?.message).toMatch(/expired 1 h ago|expired 59 min/);
  expect(said(-1)[0]?.message).toContain("is not valid yet, only in");
});

test("a certificate that is weak is named, with its file and what to do; a root's own signature does not count", async () => {
  const request = (bits: number, hash: string, signer: string[] = []) => {
    const [key, crt] = [join(dir, "weak.key"), join(dir, `weak-${bits}-${hash}.crt`)];
    const made = ["req", "-x509", "-newkey", `rsa:${bits}`, "-nodes", "-keyout", key, "-out", crt, `-${hash}`];
    execFileSync("openssl", [...made, "-subj", "/CN=weak", "-days", "90", ...signer], { stdio: "ignore" });
    return crt;
  };
  const said = (file: string) => startWarnings({ ...NOTHING, certFiles: [file] });
  const short = request(1024, "sha256");
  expect(said(short)).toMatchObject([
    {
      code: "DB_CERT_FILE",
      message: `the certificate "CN=weak" in ${short} is weak: its RSA key has 1024 bits`,
      remedy: expect.stringContaining("RSA with 2048 bits or more"),
    },
  ]);
  const { certificatePem, privateKeyPem } = await createAuthority({ commonName: "ca" });
  const [ca, caKey] = [put("signer.crt", certificatePem, 0o644), put("signer.key", privateKeyPem, 0o600)];
  const hashed = request(2048, "sha1", ["-CA", ca, "-CAkey", caKey]);
  expect(said(hashed).map(({ message }) => message)).toEqual([
    `the certificate "CN=weak" in ${hashed} is weak: it is signed with SHA-1`,
  ]);
  expect(said(request(2048, "sha1"))).toEqual([]);
  const ended = startWarnings({ ...NOTHING, certFiles: [short], areDatesSaid: true }, new Date(Date.now() + 1e11));
  expect(ended.map(({ message }) => message)).toEqual([expect.stringContaining("is weak")]);
});

test("what is wrong with a certificate is said once, with every file that holds it", async () => {
  const { certificatePem } = await createAuthority({ commonName: "ca", validForMs: HOUR_MS });
  const certFiles = [put("own.crt", certificatePem, 0o644), put("both.crt", certificatePem + certificatePem, 0o644)];
  const said = startWarnings({ ...NOTHING, certFiles, caFiles: certFiles }, new Date(Date.now() + 2 * HOUR_MS));
  expect(said.map(({ message }) => message)).toEqual([
    expect.stringContaining(`the certificate "CN=ca" in ${certFiles.join(" and ")} expired`),
  ]);
});

test("certificates of a bundle that are damaged are counted, since they are left out", async () => {
  const { certificatePem } = await createAuthority({ commonName: "whole" });
  const { certificatePem: other } = await createAuthority({ commonName: "damaged" });
  const file = put("bundle.crt", certificatePem + other.replace("\nMII", "\nMI!"), 0o644);
  expect(startWarnings({ ...NOTHING, certFiles: [file] }).map(({ message }) => message)).toEqual([
    `1 of the 2 certificates in ${file} cannot be read and are left out`,
  ]);
});

test("a file of authorities is named when it holds none, so that nobody could be accepted", async () => {
  const authority = await createAuthority({ commonName: "the ca" });
  const leaf = await issueCertificate(authority, { use: "server", commonName: "server", dnsNames: ["s.example"] });
  const said = (pem: string) => startWarnings({ ...NOTHING, caFiles: [put("authorities.crt", pem, 0o644)] });
  expect(said(leaf.certificatePem)).toMatchObject([
    {
      message: expect.stringMatching(/authorities\.crt is to hold .* holds none: "CN=server"/),
      remedy: expect.stringContaining('"CN=the ca"'),
    },
  ]);
  expect(said(authority.certificatePem + leaf.certificatePem)).toEqual([]);
});

test.each([
  ["empty", "\n", 0o600, [/is empty, so the admin API refuses everybody$/]],
  ["short", "secret\n", 0o600, [/has only 6 characters and can be guessed$/]],
  ["open", "0123456789abcdef0123456789abcdef", 0o644, [/can be read by every user of this host \(mode 0644\)$/]],
  ["short and open", "x", 0o604, [/has only 1 characters/, /\(mode 0604\)$/]],
  [
    "of two lines",
    "0123456789abcdef\n0123456789abcdef\n",
    0o600,
    [/is not one line of printable ASCII .*no request can/],
  ],
  ["good", "0123456789abcdef0123456789abcdef", 0o640, []],
])("a token file that is %s", (name, text, mode, expected) => {
  const said = startWarnings({ ...NOTHING, adminTokenFile: put(name, text, mode) });
  expect(said.map(({ message }) => message)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  expect(said.every(({ code }) => code === "DB_ADMIN_TOKEN_FILE")).toBe(true);
  expect(JSON.stringify(said)).not.toContain("secret");
});

test("a token file that is missing, a key that everybody can read, and a mounted Secret, which only the pod has", () => {
  const key = put("a.key", "key", 0o644);
  mkdirSync(join(dir, "..2026"));
  put("..2026/b.key", "key", 0o644);
  symlinkSync("..2026/b.key", join(dir, "b.key"));
  const said = startWarnings({
    ...NOTHING,
    keyFiles: [key, join(dir, "b.key")],
    adminTokenFile: join(dir, "none"),
  });
  expect(said.map(({ message }) => message)).toEqual([
    expect.stringContaining(`${key} can be read by every user`),
    expect.stringContaining("cannot be read, so the admin API refuses everybody"),
  ]);
});

test("--server-count=0 is a warning, and 1 is not", () => {
  expect(startWarnings({ ...NOTHING, serverCount: 0 })).toMatchObject([{ code: "DB_FLAG_VALUE" }]);
  expect(startWarnings({ ...NOTHING, serverCount: 1 })).toEqual([]);
});

const jwt = (claims: object): string =>
  ["{}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
const later = Math.floor(Date.now() / 1000) + 3600;

test.each([
  ["empty", "\n", 0o600, [/ is empty, so this agent connects to no server$/]],
  ["a password", "hunter2\n", 0o600, [/ is not a JSON Web Token/]],
  ["three words", "a.b.c", 0o600, [/ is not a JSON Web Token/]],
  ["ended", jwt({ exp: 1_700_000_000 }), 0o600, [/ ended on 2023-11-14T22:13:20/]],
  ["of no date", jwt({ exp: -1e300 }), 0o600, [/ has an end \(exp\) that is no date: -1e\+300$/]],
  ["of a date too far", jwt({ exp: 1e300 }), 0o600, [/ has an end \(exp\) that is no date: 1e\+300$/]],
  ["open", jwt({ exp: later }), 0o644, [/can be read by every user of this host \(mode 0644\)$/]],
  ["good", jwt({ exp: later }), 0o600, []],
  ["without an end", jwt({}), 0o600, []],
])("a service account token that is %s", (name, text, mode, expected) => {
  const said = startWarnings({ ...NOTHING, agentTokenFile: put(`sa ${name}`, text, mode) });
  expect(said.map(({ message }) => message)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  expect(said.every(({ code }) => code === "DB_TOKEN_FILE")).toBe(true);
  expect(JSON.stringify(said)).not.toContain("hunter2");
});

test("a projected token is open to the pod alone, and one that is missing is named", () => {
  mkdirSync(join(dir, "..2027"));
  put("..2027/token", jwt({ exp: later }), 0o644);
  symlinkSync("..2027/token", join(dir, "token"));
  expect(startWarnings({ ...NOTHING, agentTokenFile: join(dir, "token") })).toEqual([]);
  expect(startWarnings({ ...NOTHING, agentTokenFile: join(dir, "none") })[0]?.message).toContain("cannot be read");
});

test.each([
  ["ipv4=foo", /ipv4="foo", which is not an IPv4 address/, /--agent-identifiers/],
  ["ipv6=fd00::1]", /ipv6="fd00::1\]", which is not an IPv6 address/, /--agent-identifiers/],
  ["ipv4=10.0.0.0/8", /not an IPv4 address/, /^Write cidr=10\.0\.0\.0\/8 .* destCIDR/],
  ["cidr=x", /cidr="x", which is not a network/, /--agent-identifiers/],
  ["cidr=10.0.0.0", /not a network/, /--agent-identifiers/],
  ["host=", /host="", which is empty/, /--agent-identifiers/],
  ["host=https://web.example/", /host="https:\/\/web\.example\/", which is not the name of a host/, /host=db\.example/],
  ["host=web.example:443", /which is not the name of a host/, /host=db\.example/],
  ["default-route=yes", /default-route="yes", which is neither true nor false/, /default-route=true/],
])("the identifier %s matches no destination", (identifiers, message, remedy) => {
  const said = startWarnings({ ...NOTHING, identifiers: `${identifiers}&ipv4=10.0.0.1` });
  const expected = { message: expect.stringMatching(message), remedy: expect.stringMatching(remedy) };
  expect(said).toEqual([{ code: "DB_FLAG_VALUE", ...expected }]);
});

test("identifiers that can match are not warned of", () => {
  const identifiers =
    "ipv4=10.0.0.1&ipv6=10.0.0.1&ipv6=fd00::1&host=db&host=DB.example&host=10.0.0.1&cidr=10.0.0.0/8&cidr=fd00::/8&default-route=false";
  expect(startWarnings({ ...NOTHING, identifiers })).toEqual([]);
});

test("a short life is warned of when two thirds are over, and at its end, within one look each", async () => {
  const issued = await createAuthority({ commonName: "ca", validForMs: 90_000, backdateMs: 0 });
  const file = put("short.crt", issued.certificatePem, 0o644);
  const start = Date.parse(new X509Certificate(issued.certificatePem).validFrom);
  const lines: string[] = [];
  let [second, tick] = [1, () => {}];
  warnFromNowOn(
    { warn: (message) => lines.push(`${second}: ${message.replace(/^.*\.crt /, "").replace(/,.*/, "")}`) },
    { ...NOTHING, certFiles: [file] },
    () => new Date(start + second * 1000),
    (_intervalMs, look) => {
      tick = look;
      return () => {};
    },
  );
  for (; second <= 180; second += 5) tick();
  expect(lines).toEqual(["61: expires in 29 s", "91: expired 1 s ago"]);
});

test("a token is named within one look of its end", () => {
  const at = Date.parse("2031-01-01T00:00:00Z");
  const claims = Buffer.from(JSON.stringify({ exp: at / 1000 })).toString("base64url");
  const agentTokenFile = put("short-token", `e30.${claims}.c2ln`, 0o600);
  const seen: number[] = [];
  let [second, tick] = [-20, () => {}];
  warnFromNowOn(
    { warn: () => seen.push(second) },
    { ...NOTHING, agentTokenFile },
    () => new Date(at + second * 1000),
    (_intervalMs, look) => {
      tick = look;
      return () => {};
    },
  );
  for (; second <= 180; second += 5) tick();
  expect(seen).toEqual([0]);
});

test("a certificate is named once when its time comes, and once when it is replaced by one that is no better", async () => {
  const make = async (hours: number) =>
    (await createAuthority({ commonName: "ca", validForMs: hours * HOUR_MS, backdateMs: 0 })).certificatePem;
  const file = put("followed.crt", await make(30), 0o644);
  const lines: string[] = [];
  let [hours, tick] = [1, () => {}];
  const warn = (message: string) => lines.push(message.replace(/^.*\.crt /, ""));
  const stop = warnFromNowOn(
    { warn },
    { ...NOTHING, certFiles: [file] },
    () => new Date(Date.now() + hours * HOUR_MS),
    (_intervalMs, look) => {
      tick = look;
      return () => lines.push("stopped");
    },
  );
  const after = (until: number): string[] => {
    hours = until;
    tick();
    tick();
    return lines.splice(0);
  };
  expect(after(1)).toEqual([]);
  expect(after(29)).toEqual([expect.stringMatching(/^expires in 1 h|^expires in 59 min/)]);
  expect(after(29.5)).toEqual([]);
  expect(after(30 - 10 / 3600)).toEqual([]);
  expect(after(30 + 5 / 3600)).toEqual([expect.stringMatching(/^expired \d s ago/)]);
  expect(after(30.1)).toEqual([]);
  put("followed.crt", await make(20), 0o644);
  expect(after(30.1)).toEqual([expect.stringMatching(/^expired 10 h/)]);
  put("followed.crt", await make(90), 0o644);
  expect(after(30.1)).toEqual([]);
  stop();
  expect(lines).toEqual(["stopped"]);
});

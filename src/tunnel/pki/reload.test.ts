import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import type { DrawbridgeError } from "../../base/errors/error.js";
import { CertificateFiles, type CertificateSet } from "./certificate-set.js";
import { createAuthority, issueCertificate, type PemPair } from "./issue.js";

let ca: string;
let otherCa: string;
let first: PemPair;
let second: PemPair;
let dir: string;
let at: (name: string) => string;

beforeAll(async () => {
  const authority = await createAuthority({ commonName: "one" });
  const other = await createAuthority({ commonName: "two", key: "rsa2048" });
  ca = authority.certificatePem;
  otherCa = other.certificatePem;
  first = await issueCertificate(authority, { use: "client", commonName: "first" });
  second = await issueCertificate(other, { use: "client", commonName: "second" });
}, 60_000);

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-reload-"));
  at = (name) => join(dir, name);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function place(pair: PemPair, bundle = ca): void {
  put("tls.crt", pair.certificatePem);
  put("tls.key", pair.privateKeyPem);
  put("ca.crt", bundle);
}

function put(name: string, text: string | Uint8Array): void {
  writeFileSync(at(`${name}.new`), text);
  renameSync(at(`${name}.new`), at(name));
}

function replaceByDirectory(name: string): void {
  rmSync(at(name));
  mkdirSync(at(name));
}

/** The files under a hand-turned clock, with everything it called back. */
function watch() {
  const changes: CertificateSet[] = [];
  const problems: DrawbridgeError[] = [];
  let recoveries = 0;
  let tick = () => {};
  let stopped = 0;
  const files = new CertificateFiles(
    { certFile: at("tls.crt"), keyFile: at("tls.key"), caFile: at("ca.crt") },
    {
      onChange: (set) => changes.push(set),
      onProblem: (error) => problems.push(error),
      onRecovery: () => recoveries++,
      every: (ms, run) => {
        expect(ms).toBe(5000);
        tick = run;
        return () => {
          stopped++;
        };
      },
    },
  );
  return { files, changes, problems, recoveries: () => recoveries, tick: () => tick(), stopped: () => stopped };
}

describe("first load", () => {
  test("offers what the files hold", () => {
    place(first);
    expect(watch().files.current).toEqual({ cert: first.certificatePem, key: first.privateKeyPem, ca });
  });

  test("needs only the parts that were named", () => {
    put("ca.crt", ca);
    const files = new CertificateFiles({ certFile: "", keyFile: "", caFile: at("ca.crt") });
    files.close();
    expect(files.current).toEqual({ ca });
  });

  test.each<[string, () => void, ErrorCode, RegExp]>([
    ["a missing file", () => rmSync(at("tls.key")), "DB_CERT_MISSING", /tls\.key cannot be used: it does not exist\.$/],
    [
      "something else than PEM",
      () => put("tls.crt", "hello"),
      "DB_CERT_NOT_PEM",
      /tls\.crt cannot be used: it is not PEM and nothing else that is known here\.$/,
    ],
    ["an empty file", () => put("tls.key", ""), "DB_CERT_NOT_PEM", /tls\.key .* it is not PEM but empty/],
    [
      "a certificate in DER",
      () => put("tls.crt", new X509Certificate(first.certificatePem).raw),
      "DB_CERT_NOT_PEM",
      /a certificate in DER; openssl x509 -inform der -outform pem /,
    ],
    [
      "a key in DER",
      () => put("tls.key", createPrivateKey(first.privateKeyPem).export({ type: "pkcs8", format: "der" })),
      "DB_CERT_NOT_PEM",
      /a private key in DER; openssl pkey -inform der -outform pem /,
    ],
    [
      "PKCS #12",
      // As openssl pkcs12 -export begins its files.
      () => put("tls.crt", Buffer.from("308204a9020103308204", "hex")),
      "DB_CERT_NOT_PEM",
      /PKCS #12; openssl pkcs12 /,
    ],
    [
      "UTF-16",
      () => put("tls.crt", Buffer.from(`\ufeff${first.certificatePem}`, "utf16le")),
      "DB_CERT_NOT_PEM",
      /text in UTF-16/,
    ],
    [
      "base64 out of a Secret",
      () => put("tls.crt", Buffer.from(first.certificatePem).toString("base64")),
      "DB_CERT_NOT_PEM",
      /base64 -d decodes it/,
    ],
    [
      "a chain in the wrong order",
      () => put("tls.crt", ca + first.certificatePem),
      "DB_CERT_FILE",
      /tls\.crt cannot be used: its certificates are in the wrong order: the key in .*tls\.key belongs to number 2/,
    ],
    [
      "a foreign key",
      () => put("tls.key", second.privateKeyPem),
      "DB_CERT_KEY_MISMATCH",
      /tls\.key .* does not belong to .*tls\.crt\.$/,
    ],
    [
      "a key in place of the certificate",
      () => put("tls.crt", first.privateKeyPem),
      "DB_CERT_FILE",
      /tls\.crt cannot be used: it holds no certificate but a PRIVATE KEY: were the files of certificate and key swapped/,
    ],
    [
      "a certificate in place of the key",
      () => put("tls.key", first.certificatePem),
      "DB_CERT_FILE",
      /tls\.key cannot be used: it holds no private key but a CERTIFICATE: were the files of certificate and key swapped/,
    ],
    [
      "a bundle of keys",
      () => put("ca.crt", first.privateKeyPem),
      "DB_CA_BUNDLE_EMPTY",
      /ca\.crt cannot be used: it holds no certificate but a PRIVATE KEY/,
    ],
    [
      "a certificate request",
      () => put("tls.crt", first.certificatePem.replaceAll("CERTIFICATE", "CERTIFICATE REQUEST")),
      "DB_CERT_FILE",
      /it holds no certificate but a CERTIFICATE REQUEST\.$/,
    ],
    [
      "a key that is cut off",
      () => put("tls.key", first.privateKeyPem.slice(0, 100)),
      "DB_CERT_FILE",
      /holds no private key: its PRIVATE KEY block has no end, so the file is cut off/,
    ],
    [
      "line ends that are written out",
      () => put("tls.crt", first.certificatePem.replaceAll("\n", "\\n")),
      "DB_CERT_FILE",
      /holds no certificate: its line ends are written out as \\n/,
    ],
    ["a directory", () => replaceByDirectory("ca.crt"), "DB_CERT_FILE", /ca\.crt .* is a directory/],
    [
      "a certificate block with foreign content",
      () => put("ca.crt", `${ca}-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n`),
      "DB_CERT_FILE",
      /ca\.crt .* CERTIFICATE block in it cannot be parsed/,
    ],
    [
      "an encrypted key",
      () => put("tls.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n"),
      "DB_CERT_FILE",
      /encrypted/,
    ],
  ])("names the file and the fault: %s", (_, spoil, code, sentence) => {
    place(first);
    spoil();
    expect(watch).toThrow(expect.objectContaining({ code, message: expect.stringMatching(sentence) }));
  });

  test("says when a certificate comes without its key", () => {
    place(first);
    expect(() => new CertificateFiles({ certFile: at("tls.crt") })).toThrow(/must be given together/);
  });

  test("never shows key material in an error", () => {
    place(first);
    const secret = first.privateKeyPem.replace(/\n/g, "").slice(40, 80);
    put("tls.key", first.privateKeyPem.replace("MIGH", "AAAA"));
    let text = "";
    try {
      watch();
    } catch (reason) {
      text = String(reason) + String((reason as Error).cause);
    }
    expect(text).toMatch(/cannot be parsed/);
    expect(text).not.toContain(secret);
  });

  test("takes the certificates out of a bundle and leaves the rest, as upstream does", () => {
    place(first);
    const broken = "-----BEGIN CERTIFICATE-----\nnot base64 !!\n-----END CERTIFICATE-----\n";
    const torn = "-----BEGIN CERTIFICATE-----\nMIIB\n";
    put("ca.crt", `a comment\n${first.privateKeyPem}${broken}${ca}${torn}${otherCa}\r\n`);
    expect(watch().files.current.ca).toBe(ca + otherCa);
  });

  test("reads a file with a byte order mark and Windows line ends", () => {
    place(first);
    put("tls.crt", `\ufeff${first.certificatePem.replaceAll("\n", "\r\n")}`);
    expect(watch().files.current.cert).toBe(first.certificatePem);
  });

  test("finds an EC key behind its parameters", () => {
    place(first);
    put(
      "tls.key",
      `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${first.privateKeyPem}`,
    );
    expect(watch().files.current.key).toBe(first.privateKeyPem);
  });
});

describe("later changes", () => {
  test("hands over a new set once, and only when something changed", () => {
    place(first);
    const { changes, files, problems, tick } = watch();
    tick();
    expect(changes).toEqual([]);
    place(second, otherCa);
    tick();
    tick();
    expect(changes).toEqual([{ cert: second.certificatePem, key: second.privateKeyPem, ca: otherCa }]);
    expect(files.current).toBe(changes[0]);
    expect(problems).toEqual([]);
  });

  test("keeps the old set while the files do not fit, says so once per change, and recovers", () => {
    place(first);
    const { changes, files, problems, tick } = watch();
    put("tls.crt", second.certificatePem);
    tick();
    tick();
    expect(files.current.cert).toBe(first.certificatePem);
    expect(problems.map((error) => error.code)).toEqual(["DB_CERT_KEY_MISMATCH"]);
    rmSync(at("tls.key"));
    tick();
    tick();
    expect(problems).toHaveLength(2);
    expect(problems[1]!.message).toMatch(/tls\.key .* does not exist/);
    put("tls.key", second.privateKeyPem);
    tick();
    expect(changes).toHaveLength(1);
    expect(problems).toHaveLength(2);
  });

  test("follows the link that Kubernetes swaps", () => {
    for (const [name, pair] of [
      ["v1", first],
      ["v2", second],
    ] as const) {
      mkdirSync(at(name));
      writeFileSync(at(`${name}/tls.crt`), pair.certificatePem);
      writeFileSync(at(`${name}/tls.key`), pair.privateKeyPem);
      writeFileSync(at(`${name}/ca.crt`), ca);
      // Same time and, for the bundle, same size: only the inode tells them apart.
      for (const file of ["tls.crt", "tls.key", "ca.crt"]) utimesSync(at(`${name}/${file}`), 1000, 1000);
    }
    symlinkSync("v1", at("..data"));
    for (const file of ["tls.crt", "tls.key", "ca.crt"]) symlinkSync(`..data/${file}`, at(file));
    const { changes, tick } = watch();
    symlinkSync("v2", at("..data_tmp"));
    renameSync(at("..data_tmp"), at("..data"));
    tick();
    expect(changes.map((set) => set.cert)).toEqual([second.certificatePem]);
  });

  test("looks again when only permissions changed, without calling an unchanged set new", () => {
    place(first);
    const { changes, problems, tick } = watch();
    chmodSync(at("tls.key"), 0o400);
    tick();
    expect([changes, problems]).toEqual([[], []]);
  });

  test("stops its timer when closed", () => {
    place(first);
    const { files, stopped } = watch();
    files.close();
    expect(stopped()).toBe(1);
  });
});

describe("the problem of what is on disk", () => {
  test("lasts until the files fit again, whether they are new or those of before", () => {
    place(first);
    const { files, recoveries, tick } = watch();
    expect(files.problem).toBeUndefined();
    put("tls.key", second.privateKeyPem);
    tick();
    const { problem } = files;
    expect(problem?.error.code).toBe("DB_CERT_KEY_MISMATCH");
    expect(Math.abs(Date.now() - problem!.at)).toBeLessThan(60_000);
    tick();
    expect(files.problem).toBe(problem);
    put("tls.key", first.privateKeyPem);
    tick();
    expect(files.problem).toBeUndefined();
    tick();
    expect(recoveries()).toBe(1);
    put("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    tick();
    expect(files.problem?.error.code).toBe("DB_CERT_FILE");
    place(second, otherCa);
    tick();
    expect(files.problem).toBeUndefined();
    // New ones are told as a change.
    expect(recoveries()).toBe(1);
  });
});

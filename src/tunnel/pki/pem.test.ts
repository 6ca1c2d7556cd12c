import { describe, expect, test } from "vitest";
import { createAuthority } from "./issue.js";
import { certificatesIn, holdsEncryptedKey, leafIn, pemBlocks, pemText, privateKeyIn } from "./pem.js";

const a = await createAuthority({ commonName: "a" });
const b = await createAuthority({ commonName: "b" });
const plain = pemText("X", Buffer.from("hello"));
const subjects = (text: string) => certificatesIn(text).map(({ certificate }) => certificate.subject);

// What Go makes of thousands of others is in test/interop/pem.
describe("a bundle", () => {
  test.each<[string, string, readonly string[]]>([
    ["of several", a.certificatePem + b.certificatePem, ["CN=a", "CN=b"]],
    [
      "with comments and other text",
      `# one\n${a.certificatePem}\nsubject=CN = b: x\n${b.certificatePem}end`,
      ["CN=a", "CN=b"],
    ],
    ["with a key in it", a.privateKeyPem + a.certificatePem, ["CN=a"]],
    ["with Windows line ends", a.certificatePem.replaceAll("\n", "\r\n"), ["CN=a"]],
    ["with spaces behind its lines", a.certificatePem.replaceAll("\n", " \t\n"), ["CN=a"]],
    ["without its last line feed", a.certificatePem.trimEnd(), ["CN=a"]],
    ["in one long line", a.certificatePem.replace(/(?<=[^-])\n(?=[^-])/g, ""), ["CN=a"]],
    ["whose first block lost its end", a.certificatePem.replace(/-----END.*\n/, "") + b.certificatePem, ["CN=b"]],
    [
      "whose first block has a header",
      a.certificatePem.replace("-----\n", "-----\nX: y\n\n") + b.certificatePem,
      ["CN=b"],
    ],
    ["whose first block is no base64", a.certificatePem.replace("\nMI", "\n!!") + b.certificatePem, ["CN=b"]],
    ["for OpenSSL alone", a.certificatePem.replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE"), []],
    ["of nothing", "", []],
  ])("%s is read as Go reads it", (_, text, expected) => {
    expect(subjects(text)).toEqual(expected);
  });

  test.each([
    ["something else", pemText("CERTIFICATE", Buffer.from("hello"))],
    ["nothing", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"],
    [
      "a byte more than the certificate",
      pemText("CERTIFICATE", Buffer.concat([leafIn(a.certificatePem).raw, Buffer.of(0)])),
    ],
    ["PEM once more", pemText("CERTIFICATE", Buffer.from(a.certificatePem))],
  ])("with a certificate's block that holds %s is an error", (_, text) => {
    expect(() => certificatesIn(text)).toThrow();
  });

  test("is given on in one spelling, whatever it was written in", () => {
    const odd = `text\n${a.certificatePem.replaceAll("\n", "\r\n")}`;
    expect(certificatesIn(odd).map(({ pem }) => pem)).toEqual([a.certificatePem]);
  });
});

describe("a block", () => {
  test("keeps its label, its bytes and its headers", () => {
    const [block] = pemBlocks(plain.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n"));
    expect(block).toEqual({ label: "X", der: Buffer.from("hello"), headers: ["Proc-Type: 4,ENCRYPTED"], text: plain });
  });

  test("is found in a megabyte of text that only looks like PEM, at once", () => {
    const started = performance.now();
    for (const noise of ["\n-----END ", "-----BEGIN ", `${" ".repeat(99)}x `, "a:\n"]) {
      const text = noise.repeat(Math.ceil(2 ** 20 / noise.length));
      expect(pemBlocks(`${text}\n${plain}`)).toHaveLength(1);
    }
    // A reader that looks at every place again for each of the others takes minutes.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("a key", () => {
  test("is the first one of the text, after any parameters", () => {
    expect(privateKeyIn(plain + a.privateKeyPem + b.privateKeyPem)?.pem).toBe(a.privateKeyPem);
    expect(privateKeyIn(a.certificatePem)).toBeUndefined();
  });

  test("that is encrypted is known by its label or its header", () => {
    expect(holdsEncryptedKey(pemText("ENCRYPTED PRIVATE KEY", Buffer.from("x")))).toBe(true);
    const old = pemText("RSA PRIVATE KEY", Buffer.from("x")).replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n");
    expect(holdsEncryptedKey(old)).toBe(true);
    expect(holdsEncryptedKey(a.privateKeyPem)).toBe(false);
  });
});

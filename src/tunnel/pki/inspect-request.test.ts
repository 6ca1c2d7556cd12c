import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inspectRequest } from "./inspect-request.js";
import { pemText } from "./pem.js";
import { openssl, opensslAvailable } from "./testing/openssl.js";

describe.skipIf(!opensslAvailable())("a certificate signing request", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "db-request-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const p256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  function request(subject: string, extensions: readonly string[] = [], key: readonly string[] = p256): string {
    const out = join(folder, "request.pem");
    openssl(
      ...["req", "-new", "-nodes", ...key, "-subj", subject, "-keyout", join(folder, "key.pem"), "-out", out],
      ...extensions.flatMap((extension) => ["-addext", extension]),
    );
    return readFileSync(out, "utf8");
  }

  test("as a kubelet makes it has a name, a group and nothing else", async () => {
    expect(inspectRequest(request("/O=system:nodes/CN=system:node:w0"))).toEqual({
      commonNames: ["system:node:w0"],
      organizations: ["system:nodes"],
      otherSubjectParts: [],
      dnsNames: [],
      ipAddresses: [],
      otherNames: [],
      otherExtensions: [],
      key: "P-256",
      signatureFits: true,
    });
  });

  test("is read with all names of its subject and extensions", async () => {
    const names = "subjectAltName=DNS:w0,DNS:*.x,IP:10.0.0.1,IP:fd00::1,email:a@b,URI:spiffe://x";
    const pem = request("/O=one+O=two/OU=three/CN=a/CN=b", [names, "basicConstraints=critical,CA:TRUE"]);
    expect(inspectRequest(pem)).toMatchObject({
      commonNames: ["a", "b"],
      organizations: ["one", "two"],
      otherSubjectParts: ["OU=three"],
      dnsNames: ["w0", "*.x"],
      ipAddresses: ["10.0.0.1", "fd00::1"],
      otherNames: ["email:a@b", "url:spiffe://x"],
      otherExtensions: ["2.5.29.19"],
    });
  });

  test("is reported with all of its attributes", async () => {
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const san = (name: string) => new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }]);
    const make = async (attributes: x509.Attribute[]) => {
      const shared = { name: "CN=x", keys, signingAlgorithm: algorithm };
      return (
        await x509.Pkcs10CertificateRequestGenerator.create({ ...shared, attributes, extensions: [san("a")] })
      ).toString("pem");
    };
    const password = await make([new x509.ChallengePasswordAttribute("x")]);
    expect(inspectRequest(password)).toMatchObject({
      dnsNames: ["a"],
      otherExtensions: ["1.2.840.113549.1.9.7"],
    });
    const twice = await make([new x509.ExtensionsAttribute([san("b")])]);
    expect(() => inspectRequest(twice)).toThrow("two lists of extensions");
  });

  test("names the kind of its key", async () => {
    expect(inspectRequest(request("/CN=x", [], ["-newkey", "rsa:2048"]))).toMatchObject({ key: "RSA-2048" });
    const weak = inspectRequest(request("/CN=x", [], ["-newkey", "rsa:1024"]));
    expect(weak).toMatchObject({ key: "RSA-1024", signatureFits: true });
  });

  test("reports whether it is signed with its own key", async () => {
    const pem = request("/CN=system:node:w0");
    const der = Buffer.from(pem.replace(/-----.*-----/g, ""), "base64");
    const at = der.indexOf("system:node:w0");
    der[at + 13] = "1".charCodeAt(0);
    expect(inspectRequest(pemText("CERTIFICATE REQUEST", der))).toMatchObject({
      commonNames: ["system:node:w1"],
      signatureFits: false,
    });
  });

  test("is refused when it is anything else", async () => {
    const pem = request("/CN=x");
    const der = pem.replace(/-----.*-----\n/g, "");
    const wrapped = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}-----END ${label}-----\n`;
    for (const text of [
      "",
      "hello",
      pem + pem,
      wrapped("CERTIFICATE", der),
      wrapped("CERTIFICATE REQUEST", "AAAA\n"),
      wrapped("CERTIFICATE REQUEST", `${der.slice(0, 40)}\n`),
      wrapped("CERTIFICATE REQUEST", "A".repeat(70_000)),
    ]) {
      expect(() => inspectRequest(text)).toThrow(expect.objectContaining({ code: "DB_CSR_REQUEST" }));
    }
  });
});

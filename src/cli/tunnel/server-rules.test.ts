import { createSecureContext, getCiphers } from "node:tls";
import { expect, test } from "vitest";
import { openSslSuites, tlsVersion } from "./server-rules.js";

const everySuite = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  ...["ECDSA", "RSA"].flatMap((kind) =>
    ["AES_128_CBC_SHA", "AES_256_CBC_SHA", "AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"].map(
      (cipher) => `TLS_ECDHE_${kind}_WITH_${cipher}`,
    ),
  ),
];

test("every suite Go calls secure has a name this Node knows", () => {
  const suites = openSslSuites(everySuite);
  expect(suites).toHaveLength(13);
  expect(new Set(suites).size).toBe(13);
  const known = getCiphers();
  expect(suites.filter((suite) => !known.includes(suite.toLowerCase()))).toEqual([]);
  expect(() => createSecureContext({ ciphers: suites.join(":") })).not.toThrow();
});

test("a list never switches TLS 1.3 off", () => {
  expect(openSslSuites(["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"])).toEqual([
    "ECDHE-RSA-AES256-SHA",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
  ]);
  expect(openSslSuites([])).toEqual([]);
});

test.each(["TLS_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES256-SHA", "toString", ""])("%j is refused", (name) => {
  expect(() => openSslSuites([name])).toThrow(
    `cipher suite ${name} not supported, doesn't exist or considered as insecure`,
  );
});

test("versions", () => {
  expect(["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"].map(tlsVersion)).toEqual([
    "TLSv1.2",
    "TLSv1",
    "TLSv1.1",
    "TLSv1.2",
    "TLSv1.3",
  ]);
  expect(() => tlsVersion("TLSv1.2")).toThrow('unsupported TLS version "TLSv1.2"');
});

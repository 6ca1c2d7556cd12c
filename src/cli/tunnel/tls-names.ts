/** Go's names for TLS versions and cipher suites, in the words Node's OpenSSL knows. */
import type { TlsPolicy } from "../../tunnel/server/config.js";
import { quote } from "../flags/go-text.js";

const versions: Readonly<Record<string, TlsPolicy["minVersion"]>> = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

const tls13Suites: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

/** The suites Go calls secure, up to TLS 1.2. */
const tls12Suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
};

/** Empty means TLS 1.2. Throws an Error with upstream's text. */
export function tlsVersion(goName: string): TlsPolicy["minVersion"] {
  if (goName === "") return "TLSv1.2";
  const version = Object.hasOwn(versions, goName) ? versions[goName] : undefined;
  if (version !== undefined) return version;
  throw new Error(
    `unsupported TLS version ${quote(goName)}, supported values are: ${Object.keys(versions).join(", ")}`,
  );
}

/**
 * Throws an Error with upstream's text for a suite Go does not call secure.
 * The TLS 1.3 suites are always part of the answer: Go does not let them be chosen, and Node switches TLS 1.3 off
 * when a list has none of them.
 */
export function openSslSuites(goNames: readonly string[]): string[] {
  const older: string[] = [];
  for (const goName of goNames) {
    if (tls13Suites.includes(goName)) continue;
    const suite = Object.hasOwn(tls12Suites, goName) ? tls12Suites[goName] : undefined;
    if (suite === undefined) {
      throw new Error(`cipher suite ${goName} not supported, doesn't exist or considered as insecure`);
    }
    older.push(suite);
  }
  return goNames.length === 0 ? [] : [...older, ...tls13Suites];
}

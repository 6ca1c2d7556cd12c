/** Certificates as the openssl command line sees them: an implementation that is not ours. */
import { execFileSync, spawnSync } from "node:child_process";

/** False means "skip, the reason is printed"; with DRAWBRIDGE_REQUIRE_PEERS=1 a missing openssl is a failure. */
export function opensslAvailable(): boolean {
  if (spawnSync("openssl", ["version"]).status === 0) return true;
  const advice = "openssl is missing: install the Debian package openssl (.ci/install-packages does it).";
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(advice);
  process.stderr.write(`skipped: ${advice}\n`);
  return false;
}

export function openssl(...args: readonly string[]): string {
  return execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** As a TLS peer would judge it, strictly by RFC 5280. */
export function verifies(certFile: string, caFile: string, purpose: "sslserver" | "sslclient"): boolean {
  const args = [
    "verify",
    "-x509_strict",
    "-purpose",
    purpose,
    "-no-CApath",
    "-no-CAstore",
    "-CAfile",
    caFile,
    certFile,
  ];
  return spawnSync("openssl", args).status === 0;
}

export interface Shown {
  readonly subject: string;
  readonly issuer: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly signature: string;
  readonly publicKey: string;
  /** By name, with `critical` in front where it is, e.g. `critical CA:FALSE`. */
  readonly extensions: Readonly<Record<string, string>>;
}

export function show(certFile: string): Shown {
  const text = openssl("x509", "-in", certFile, "-noout", "-text", "-nameopt", "RFC2253");
  const one = (pattern: RegExp) => pattern.exec(text)?.[1]?.trim() ?? "";
  const extensions: Record<string, string> = {};
  for (const [, name = "", critical = "", value = ""] of text.matchAll(
    /X509v3 (?!extensions)([^:\n]+): ?(critical)?\s*\n\s+([^\n]+)/g,
  )) {
    extensions[name] = `${critical && "critical "}${value.trim()}`;
  }
  return {
    subject: one(/Subject: (.*)/),
    issuer: one(/Issuer: (.*)/),
    notBefore: new Date(one(/Not Before: (.*)/)),
    notAfter: new Date(one(/Not After : (.*)/)),
    signature: one(/Signature Algorithm: (.*)/),
    publicKey: one(/Public-Key: \((.*)\)/) + (text.includes("NIST CURVE: P-256") ? " P-256" : ""),
    extensions,
  };
}

/** The same line for a certificate and for its key. */
export function publicKeyOf(kind: "certificate" | "key", file: string): string {
  return kind === "key" ? openssl("pkey", "-in", file, "-pubout") : openssl("x509", "-in", file, "-noout", "-pubkey");
}

/** The fields of one certificate, in a form for people and scripts. */
import "reflect-metadata";
import type { KeyObject, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { CLIENT_AUTH, SERVER_AUTH } from "../request.js";

export interface CertificateFacts {
  readonly subject: string;
  readonly issuer: string;
  readonly serial: string;
  readonly fingerprint256: string;
  readonly isAuthority: boolean;
  /** How many authorities may be below this one; undefined without a limit. */
  readonly pathLength: number | undefined;
  /** `IP:...` and `DNS:...`. */
  readonly names: readonly string[];
  /** `serverAuth`, `clientAuth`, or an OID; undefined when the certificate does not say, which means any. */
  readonly usages: readonly string[] | undefined;
  readonly keyUsages: readonly string[] | undefined;
  /** `RSA-2048`, `P-256`, ... */
  readonly key: string;
  /** `SHA-256`, ... */
  readonly signatureHash: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Undefined when a host in FIPS mode accepts it, else why it does not. */
  readonly fipsObjection: string | undefined;
}

export function factsOf(certificate: X509Certificate): CertificateFacts {
  const parsed = new x509.X509Certificate(certificate.raw);
  const constraints = parsed.getExtension(x509.BasicConstraintsExtension);
  const key = keyName(certificate.publicKey);
  const names = parsed.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const { name, hash } = parsed.signatureAlgorithm as { name?: string; hash?: { name?: string } };
  const signatureHash = hash?.name ?? name ?? "unknown";
  return {
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    serial: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    isAuthority: constraints?.ca ?? false,
    pathLength: constraints?.pathLength,
    names: names.map(({ type, value }) => `${type.toUpperCase()}:${value}`),
    usages: parsed
      .getExtension(x509.ExtendedKeyUsageExtension)
      ?.usages.map((oid) => usageNames.get(String(oid)) ?? String(oid)),
    keyUsages: keyUsagesOf(parsed),
    key,
    signatureHash,
    notBefore: parsed.notBefore,
    notAfter: parsed.notAfter,
    fipsObjection: fipsObjection(key, signatureHash),
  };
}

const usageNames = new Map([
  [SERVER_AUTH, "serverAuth"],
  [CLIENT_AUTH, "clientAuth"],
]);

/** Node writes one part per line. */
function oneLine(name: string): string {
  return name.split("\n").reverse().join(",");
}

function keyUsagesOf(parsed: x509.X509Certificate): string[] | undefined {
  const flags = parsed.getExtension(x509.KeyUsagesExtension)?.usages;
  if (flags === undefined) return undefined;
  return Object.entries(x509.KeyUsageFlags).flatMap(([name, bit]) =>
    typeof bit === "number" && (flags & bit) !== 0 ? [name] : [],
  );
}

const curves = new Map([
  ["prime256v1", "P-256"],
  ["secp384r1", "P-384"],
  ["secp521r1", "P-521"],
]);

export function keyName({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string {
  if (asymmetricKeyType === "rsa") return `RSA-${asymmetricKeyDetails?.modulusLength}`;
  const curve = asymmetricKeyDetails?.namedCurve;
  return curve === undefined ? String(asymmetricKeyType) : (curves.get(curve) ?? curve);
}

/** What the validated modules of RHEL 8 and 9 accept; they do not support Ed25519. */
function fipsObjection(key: string, signatureHash: string): string | undefined {
  const bits = /^RSA-(\d+)$/.exec(key)?.[1];
  if (bits === undefined && ![...curves.values()].includes(key)) return `${key} keys are not approved`;
  if (bits !== undefined && Number(bits) < 2048) return `RSA keys need 2048 bits, this one has ${bits}`;
  return /^SHA-(256|384|512)$/.test(signatureHash) ? undefined : `signatures with ${signatureHash} are not approved`;
}

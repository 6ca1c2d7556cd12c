// @peculiar/x509 throws at import unless reflect-metadata came first.
import "reflect-metadata";
import { createPublicKey, KeyObject, randomBytes, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { wrapErrors } from "../../base/errors/error.js";
import { leafIn, pemText, privateKeyIn } from "./pem.js";
import type { AuthorityRequest, CertificateRequest, KeyKind } from "./request.js";
import {
  DAY_MS,
  DEFAULT_BACKDATE_MS,
  extendedKeyUsages,
  issueError,
  validateRequest,
  validateSubject,
} from "./request.js";

/** A certificate and its private key, both PEM. */
export interface PemPair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** A certificate authority that can sign. */
export interface Authority extends PemPair {
  readonly certificate: x509.X509Certificate;
  readonly signingKey: webcrypto.CryptoKey;
}

const keyAlgorithms = {
  p256: { name: "ECDSA", namedCurve: "P-256" },
  rsa2048: {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  },
} as const satisfies Record<KeyKind, object>;

/** Makes a self-signed authority that may sign end-entity certificates only (path length 0). */
export async function createAuthority(request: AuthorityRequest): Promise<Authority> {
  return selfSign(request, await generateKeys(request.key));
}

/**
 * The same authority with a new life: same name and key, so that what it signed before and what it signs from now on
 * verify with either certificate for as long as that one lives.
 */
export async function extendAuthority(authority: Authority, request: AuthorityRequest): Promise<Authority> {
  const der = createPublicKey(authority.privateKeyPem).export({ type: "spki", format: "der" });
  const algorithm = authority.signingKey.algorithm as webcrypto.EcKeyImportParams;
  const publicKey = await webcrypto.subtle.importKey("spki", der, algorithm, true, ["verify"]);
  return selfSign(request, { privateKey: authority.signingKey, publicKey });
}

async function selfSign(request: AuthorityRequest, keys: webcrypto.CryptoKeyPair): Promise<Authority> {
  validateSubject(request);
  const usages = x509.KeyUsageFlags;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: distinguishedName(request),
    ...validity(request),
    signingAlgorithm: signingAlgorithm(keys.privateKey),
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usages.keyCertSign | usages.cRLSign | usages.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate,
    signingKey: keys.privateKey,
    certificatePem: certificateText(certificate),
    privateKeyPem: privatePem(keys.privateKey, request.keyFormat),
  };
}

/** Loads an authority that was made before, for example from a Secret. */
export async function loadAuthority(pem: PemPair): Promise<Authority> {
  return wrapErrors("DB_CERT_ISSUE", "the authority cannot be loaded", async () => {
    const certificate = new x509.X509Certificate(leafIn(pem.certificatePem).raw);
    if (certificate.getExtension(x509.BasicConstraintsExtension)?.ca !== true) {
      throw issueError(`the certificate "${certificate.subject}" is not an authority's and must not sign others`);
    }
    const key = privateKeyIn(pem.privateKeyPem)?.key;
    if (key === undefined) throw issueError("it has no key");
    const algorithm = key.asymmetricKeyType === "rsa" ? keyAlgorithms.rsa2048 : ecAlgorithm(key);
    const der = key.export({ type: "pkcs8", format: "der" });
    const signingKey = await webcrypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"]);
    return { ...pem, certificate, signingKey };
  });
}

/** Issues an end-entity certificate with a fresh key. */
export async function issueCertificate(authority: Authority, request: CertificateRequest): Promise<PemPair> {
  validateSubject(request);
  validateRequest(request);
  const keys = await generateKeys(request.key);
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  // keyEncipherment is meaningful for RSA key exchange only.
  const keyUsages = request.key === "rsa2048" ? digitalSignature | keyEncipherment : digitalSignature;
  // Verifiers match this against the authority's own identifier, however that one was computed.
  const keyId = authority.certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: distinguishedName(request),
    // The parsed name, not its text: Go compares issuer and subject byte by byte.
    issuer: authority.certificate.subjectName,
    ...validity(request, authority.certificate),
    signingAlgorithm: signingAlgorithm(authority.signingKey),
    publicKey: keys.publicKey,
    signingKey: authority.signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(keyUsages, true),
      new x509.ExtendedKeyUsageExtension([...extendedKeyUsages[request.use]]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      keyId === undefined
        ? await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey)
        : new x509.AuthorityKeyIdentifierExtension(keyId),
      ...subjectAlternativeNames(request),
    ],
  });
  return {
    certificatePem: certificateText(certificate),
    privateKeyPem: privatePem(keys.privateKey, request.keyFormat),
  };
}

/** The library reads quotes, backslashes and a leading # in plain strings as syntax; typed values stay what they are. */
function distinguishedName({ organizations = [], organizationalUnits = [], commonName }: AuthorityRequest): x509.Name {
  return new x509.Name([
    ...organizations.map((organization) => ({ O: [{ utf8String: organization }] })),
    ...organizationalUnits.map((unit) => ({ OU: [{ utf8String: unit }] })),
    { CN: [{ utf8String: commonName }] },
  ]);
}

async function generateKeys(kind: KeyKind = "p256"): Promise<webcrypto.CryptoKeyPair> {
  const keys: unknown = await webcrypto.subtle.generateKey(keyAlgorithms[kind], true, ["sign", "verify"]);
  return keys as webcrypto.CryptoKeyPair;
}

/** Sixteen random bytes with the top bit clear, so that DER needs no seventeenth, and never zero in front. */
function randomSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.toString("hex");
}

/** Certificates count in whole seconds; cutting them here keeps notAfter from rounding past the authority's. */
function validity(
  { validForMs = DAY_MS, backdateMs = DEFAULT_BACKDATE_MS, now = new Date() }: AuthorityRequest,
  within?: x509.X509Certificate,
): { notBefore: Date; notAfter: Date } {
  const made = Math.floor(now.getTime() / 1000) * 1000;
  const notBefore = Math.max(made - backdateMs, within?.notBefore.getTime() ?? 0);
  const notAfter = new Date(Math.min(made + validForMs, within?.notAfter.getTime() ?? Number.POSITIVE_INFINITY));
  if (notAfter.getTime() <= made) {
    throw issueError(`the authority expired on ${notAfter.toISOString()} and cannot sign any more; make a new one`);
  }
  return { notBefore: new Date(notBefore), notAfter };
}

function subjectAlternativeNames({ dnsNames = [], ipAddresses = [] }: Partial<CertificateRequest>): x509.Extension[] {
  const names = [
    ...dnsNames.map((value) => ({ type: "dns" as const, value })),
    ...ipAddresses.map((value) => ({ type: "ip" as const, value })),
  ];
  return names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)];
}

function signingAlgorithm(key: webcrypto.CryptoKey): { name: string; hash: string } {
  return { name: key.algorithm.name, hash: "SHA-256" };
}

function ecAlgorithm(key: KeyObject): { name: string; namedCurve: string } {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === "prime256v1") return keyAlgorithms.p256;
  if (curve === "secp384r1") return { name: "ECDSA", namedCurve: "P-384" };
  throw issueError(`its key is ${curve ?? key.asymmetricKeyType}; use RSA, P-256 or P-384`);
}

function certificateText(certificate: x509.X509Certificate): string {
  return pemText("CERTIFICATE", Buffer.from(certificate.rawData));
}

function privatePem(key: webcrypto.CryptoKey, type: AuthorityRequest["keyFormat"] = "pkcs8"): string {
  return KeyObject.from(key).export({ type, format: "pem" }).toString();
}

/** A P-256 key, as kubelets have them, and a request (PKCS #10, PEM) that somebody else signs a certificate for it. */
export async function makeSigningRequest(wanted: Omit<CertificateRequest, "use">) {
  const keys = await generateKeys("p256");
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: distinguishedName(wanted).toJSON(),
    keys,
    signingAlgorithm: signingAlgorithm(keys.privateKey),
    extensions: subjectAlternativeNames(wanted),
  });
  return {
    requestPem: pemText("CERTIFICATE REQUEST", Buffer.from(request.rawData)),
    privateKeyPem: privatePem(keys.privateKey),
  };
}

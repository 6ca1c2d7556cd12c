import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { unreadBecause } from "../../base/errors/unread.js";
import { FollowedFiles, type FollowOptions } from "./followed-files.js";
import { heldInstead, whatItIs } from "./not-pem.js";
import { certificatesIn, holdsEncryptedKey, joinedPem, type PemCertificate, type PemKey, privateKeyIn } from "./pem.js";

/** Which files belong together; an empty or missing path means that part is not used. */
export interface CertificatePaths {
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
}

/** PEM texts that fit each other. Can be spread into the options of node:tls, node:https and node:http2. */
export interface CertificateSet {
  /** The chain, leaf first. */
  readonly cert?: string;
  readonly key?: string;
  /** Only the certificates of the bundle; anything else in the file is left out. */
  readonly ca?: string;
}

/** Reads the files and proves that they fit; throws one sentence that names the file at fault. */
export function readCertificateSet(paths: CertificatePaths): CertificateSet {
  const { certFile = "", keyFile = "", caFile = "" } = paths;
  if ((certFile === "") !== (keyFile === "")) {
    throw fileError("DB_CERT_FILE", certFile || keyFile, "a certificate and its key must be given together");
  }
  return certificateSetOf({
    ...(certFile === "" ? {} : { cert: readPart(certFile), key: readPart(keyFile) }),
    ...(caFile === "" ? {} : { ca: readPart(caFile) }),
  });
}

/** What should be PEM, and where it was read: a file, or a field of one, as the subject of a sentence. */
export interface CertificatePart {
  readonly place: string;
  readonly bytes: Buffer;
}

/** Proves that the parts fit; throws one sentence that names the one at fault. A certificate without its key is not used. */
export function certificateSetOf(parts: Partial<Record<"cert" | "key" | "ca", CertificatePart>>): CertificateSet {
  const { ca, cert, key } = parts;
  const set = {
    ...(cert === undefined || key === undefined ? {} : pairOf(cert, key)),
    ...(ca === undefined ? {} : { ca: joinedPem(certificatesOf(ca, "DB_CA_BUNDLE_EMPTY")) }),
  };
  try {
    // OpenSSL may refuse more, for example keys that are too short for its security level.
    createSecureContext(set);
  } catch (reason) {
    throw fileError("DB_CERT_FILE", (cert ?? ca)?.place ?? "", refusalOf(messageOf(reason)), reason);
  }
  return set;
}

function pairOf(certPart: CertificatePart, keyPart: CertificatePart): { cert: string; key: string } {
  const [certFile, keyFile] = [certPart.place, keyPart.place];
  const chain = certificatesOf(certPart, "DB_CERT_FILE");
  const { pem, key } = keyOf(keyPart);
  const own = chain.findIndex(({ certificate }) => certificate.checkPrivateKey(key));
  if (own > 0) {
    const what = `its certificates are in the wrong order: the key in ${keyFile} belongs to number ${own + 1}, which has to be the first, each issuer behind what it issued`;
    throw fileError("DB_CERT_FILE", certFile, what);
  }
  if (own < 0) {
    const what = `this private key does not belong to the certificate in ${certFile}`;
    throw fileError("DB_CERT_KEY_MISMATCH", keyFile, what);
  }
  return { cert: joinedPem(chain), key: pem };
}

/** OpenSSL's own words say neither what is weak nor what would do. */
function refusalOf(message: string): string {
  if (message.includes("md too weak")) {
    return "it is signed with a hash that is not safe, such as SHA-1; have it issued again with SHA-256";
  }
  if (message.includes("key too small"))
    return "its key is too short; make an ECDSA key, or RSA with 2048 bits or more";
  return `OpenSSL refuses it: ${message}`;
}

function certificatesOf({ bytes, place: file }: CertificatePart, ifNone: ErrorCode): PemCertificate[] {
  const text = textOf(bytes);
  let found: PemCertificate[];
  try {
    found = certificatesIn(text);
  } catch (reason) {
    throw fileError("DB_CERT_FILE", file, `a CERTIFICATE block in it cannot be parsed (${messageOf(reason)})`, reason);
  }
  if (found.length > 0) return found;
  if (!isPem(text)) throw notPem(file, bytes);
  throw fileError(ifNone, file, `it holds no certificate${heldInstead(text)}`);
}

function keyOf({ bytes, place: file }: CertificatePart): PemKey {
  const text = textOf(bytes);
  if (holdsEncryptedKey(text))
    throw fileError("DB_CERT_FILE", file, "the private key is encrypted; store it without a passphrase");
  let found: PemKey | undefined;
  try {
    found = privateKeyIn(text);
  } catch (reason) {
    // OpenSSL's message would not help.
    throw fileError("DB_CERT_FILE", file, "the private key in it cannot be parsed", reason);
  }
  if (found !== undefined) return found;
  if (!isPem(text)) throw notPem(file, bytes);
  throw fileError("DB_CERT_FILE", file, `it holds no private key${heldInstead(text)}`);
}

/** Without the byte order mark that editors of other systems put first. */
const textOf = (bytes: Buffer): string => new TextDecoder().decode(bytes);

function readPart(file: string): CertificatePart {
  try {
    return { place: file, bytes: readFileSync(file) };
  } catch (reason) {
    const code = (reason as NodeJS.ErrnoException).code === "ENOENT" ? "DB_CERT_MISSING" : "DB_CERT_FILE";
    throw fileError(code, file, unreadBecause(reason), reason);
  }
}

const isPem = (text: string): boolean => text.includes("-----BEGIN ");
const notPem = (file: string, bytes: Buffer): DrawbridgeError =>
  fileError("DB_CERT_NOT_PEM", file, `it is not PEM ${whatItIs(bytes)}`);

function fileError(code: ErrorCode, file: string, what: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError(code, `${file} cannot be used: ${what}.`, { cause });
}

/** Certificates that may be replaced on disk while the process runs: those in force are the newest set that fits. */
export class CertificateFiles extends FollowedFiles<CertificateSet> {
  constructor(paths: CertificatePaths, options: FollowOptions<CertificateSet> = {}) {
    super([paths.certFile, paths.keyFile, paths.caFile], () => readCertificateSet(paths), options);
  }
}

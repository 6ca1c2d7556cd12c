import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { FollowedFiles, type FollowOptions } from "./followed-files.js";
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
  const set = {
    ...(certFile === "" ? {} : readPair(certFile, keyFile)),
    ...(caFile === "" ? {} : { ca: joinedPem(readCertificates(caFile, "DB_CA_BUNDLE_EMPTY")) }),
  };
  try {
    // OpenSSL may refuse more, for example keys that are too short for its security level.
    createSecureContext(set);
  } catch (reason) {
    throw fileError("DB_CERT_FILE", certFile || caFile, `OpenSSL refuses it: ${messageOf(reason)}`, reason);
  }
  return set;
}

function readPair(certFile: string, keyFile: string): { cert: string; key: string } {
  const chain = readCertificates(certFile, "DB_CERT_FILE");
  const { pem, key } = readKey(keyFile);
  if (!chain[0]!.certificate.checkPrivateKey(key)) {
    const what = `this private key does not belong to the certificate in ${certFile}`;
    throw fileError("DB_CERT_KEY_MISMATCH", keyFile, what);
  }
  return { cert: joinedPem(chain), key: pem };
}

function readCertificates(file: string, ifNone: ErrorCode): PemCertificate[] {
  const text = readText(file);
  let found: PemCertificate[];
  try {
    found = certificatesIn(text);
  } catch (reason) {
    throw fileError("DB_CERT_FILE", file, `a CERTIFICATE block in it cannot be parsed (${messageOf(reason)})`, reason);
  }
  if (found.length === 0) throw noneFound(file, text, "it holds no certificate", ifNone);
  return found;
}

function readKey(file: string): PemKey {
  const text = readText(file);
  if (holdsEncryptedKey(text))
    throw fileError("DB_CERT_FILE", file, "the private key is encrypted; store it without a passphrase");
  let found: PemKey | undefined;
  try {
    found = privateKeyIn(text);
  } catch (reason) {
    // OpenSSL's message would not help.
    throw fileError("DB_CERT_FILE", file, "the private key in it cannot be parsed", reason);
  }
  if (found === undefined) throw noneFound(file, text, "it holds no private key", "DB_CERT_FILE");
  return found;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (reason) {
    const code = (reason as NodeJS.ErrnoException).code;
    if (code === "ENOENT") throw fileError("DB_CERT_MISSING", file, "it does not exist", reason);
    const why = code === "EACCES" ? `user ${process.getuid?.() ?? ""} may not read it` : messageOf(reason);
    throw fileError("DB_CERT_FILE", file, code === "EISDIR" ? "it is a directory" : why, reason);
  }
}

function noneFound(file: string, text: string, what: string, code: ErrorCode): DrawbridgeError {
  if (!text.includes("-----BEGIN ")) return fileError("DB_CERT_NOT_PEM", file, "it is not PEM");
  return fileError(code, file, what);
}

function fileError(code: ErrorCode, file: string, what: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError(code, `${file} cannot be used: ${what}.`, { cause });
}

/** Certificates that may be replaced on disk while the process runs: those in force are the newest set that fits. */
export class CertificateFiles extends FollowedFiles<CertificateSet> {
  constructor(paths: CertificatePaths, options: FollowOptions<CertificateSet> = {}) {
    super([paths.certFile, paths.keyFile, paths.caFile], () => readCertificateSet(paths), options);
  }
}

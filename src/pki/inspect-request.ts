/** What a certificate signing request (PKCS #10) asks for, read completely: what is not understood is an error, not skipped. */
// @peculiar/x509 throws at import unless reflect-metadata came first.
import "reflect-metadata";
import { createPublicKey } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { DrawbridgeError, messageOf } from "../errors/error.js";
import { keyName } from "./inspect/facts.js";
import { pemBlocks } from "./pem.js";

export interface RequestFacts {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** `OU=x` for every part of the subject that is neither of the two. */
  readonly otherSubjectParts: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** `email:a@b`, `url:...` */
  readonly otherNames: readonly string[];
  /** Object identifiers of requested extensions and attributes beyond the names. */
  readonly otherExtensions: readonly string[];
  /** `P-256`, `RSA-2048`, ... */
  readonly key: string;
  /** Whether whoever made the request has the key. */
  readonly signatureFits: boolean;
}

const subjectAlternativeName = "2.5.29.17";
const extensionRequest = "1.2.840.113549.1.9.14";
/** A kubelet's takes about 500 bytes. */
const longestRequest = 64 * 1024;

export async function inspectRequest(pem: string): Promise<RequestFacts> {
  if (pem.length > longestRequest) throw unreadable("it is far too long");
  const blocks = pemBlocks(pem);
  const [block] = blocks;
  if (block === undefined || blocks.length > 1 || block.label !== "CERTIFICATE REQUEST" || block.hasHeaders) {
    throw unreadable("it must be one PEM block CERTIFICATE REQUEST without headers");
  }
  try {
    const request = new x509.Pkcs10CertificateRequest(block.text);
    return { ...subjectOf(request), ...extensionsOf(request), ...(await keyOf(request)) };
  } catch (reason) {
    throw unreadable(messageOf(reason), reason);
  }
}

function subjectOf(request: x509.Pkcs10CertificateRequest) {
  const parts = request.subjectName
    .toJSON()
    .flatMap((part) => Object.entries(part).flatMap(([type, values]) => values.map((value) => ({ type, value }))));
  const of = (type: string) => parts.filter((part) => part.type === type).map(({ value }) => value);
  return {
    commonNames: of("CN"),
    organizations: of("O"),
    otherSubjectParts: parts
      .filter(({ type }) => type !== "CN" && type !== "O")
      .map(({ type, value }) => `${type}=${value}`),
  };
}

function extensionsOf({ attributes, extensions }: x509.Pkcs10CertificateRequest) {
  const types = attributes.map(({ type }) => type);
  // Readers differ in which of several they take; a signer's reader must not find what this one passed over.
  if (types.filter((type) => type === extensionRequest).length > 1) throw new Error("it has two lists of extensions");
  const names = extensions
    .filter((extension) => extension.type === subjectAlternativeName)
    .flatMap((extension) => new x509.SubjectAlternativeNameExtension(extension.rawData).names.toJSON());
  const of = (type: string) => names.filter((name) => name.type === type).map(({ value }) => value);
  return {
    dnsNames: of("dns"),
    ipAddresses: of("ip"),
    otherNames: names
      .filter(({ type }) => type !== "dns" && type !== "ip")
      .map(({ type, value }) => `${type}:${value}`),
    otherExtensions: [...types, ...extensions.map(({ type }) => type)].filter(
      (type) => type !== extensionRequest && type !== subjectAlternativeName,
    ),
  };
}

async function keyOf(request: x509.Pkcs10CertificateRequest) {
  const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: "der", type: "spki" });
  return { key: keyName(key), signatureFits: await request.verify() };
}

function unreadable(why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_CSR_REQUEST", `the certificate signing request cannot be read: ${why}`, { cause });
}

/**
 * What a certificate signing request (PKCS #10) asks for. It is read to its last byte: what is not understood is an error that
 * names it, so that no signer can find in it what was not judged.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { DerReader, tags } from "./der.js";
import { keyName } from "./inspect/facts.js";
import { readOneBlock } from "./one-block.js";
import { namesIn, type RequestNames } from "./request-names.js";
import { type SubjectParts, subjectIn } from "./request-subject.js";

export interface RequestFacts extends SubjectParts, RequestNames {
  /** Object identifiers of requested extensions and attributes beyond the names. */
  readonly otherExtensions: readonly string[];
  /** `P-256`, `RSA-2048`, ... */
  readonly key: string;
  /** Whether whoever made the request has the key. */
  readonly signatureFits: boolean;
}

const SUBJECT_ALTERNATIVE_NAME = "2.5.29.17";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";
/** A kubelet's takes about 500 bytes. */
const LONGEST_REQUEST = 64 * 1024;

export function inspectRequest(pem: string): RequestFacts {
  try {
    if (pem.length > LONGEST_REQUEST) throw new Error("it is far too long");
    return factsIn(readOneBlock(pem, "CERTIFICATE REQUEST"));
  } catch (reason) {
    const sentence = `the certificate signing request cannot be read: ${messageOf(reason)}`;
    throw new DrawbridgeError("DB_CSR_REQUEST", sentence, { cause: reason });
  }
}

function factsIn(der: Buffer): RequestFacts {
  const text = new DerReader(der, "the request");
  const request = text.inside(tags.sequence, "the request");
  text.end();
  const { content, whole } = request.element(tags.sequence, "information");
  const signed = new DerReader(content, "the request");
  const version = signed.element(tags.integer, "version").content;
  if (!version.equals(Buffer.of(0))) throw new Error("the request has another version than 1");
  const subject = subjectIn(signed.inside(tags.sequence, "the subject"));
  const key = keyIn(signed.element(tags.sequence, "key").whole);
  const extensions = attributesIn(signed.inside(ATTRIBUTES_TAG, "the list of attributes"));
  signed.end();
  const hash = hashOf(algorithmIn(request, "the signature's algorithm"), key);
  const signature = request.bits("signature");
  request.end();
  return { ...subject, ...extensions, key: keyName(key), signatureFits: verify(hash, whole, key, signature) };
}

const ATTRIBUTES_TAG = 0xa0;

/** Readers differ in which of several lists they take, so there may be one. */
function attributesIn(attributes: DerReader): RequestNames & Pick<RequestFacts, "otherExtensions"> {
  const types = new Set<string>();
  let asked: Extensions = { names: undefined, others: [] };
  while (!attributes.isEmpty) {
    const attribute = attributes.inside(tags.sequence, "an attribute");
    const type = attribute.oid("type");
    if (types.has(type)) {
      throw new Error(
        type === EXTENSION_REQUEST ? "it has two lists of extensions" : `it has the attribute ${type} twice`,
      );
    }
    types.add(type);
    const values = attribute.inside(tags.set, "the value of an attribute");
    attribute.end();
    if (type !== EXTENSION_REQUEST) continue;
    asked = extensionsIn(values.inside(tags.sequence, "the list of extensions"));
    values.end();
  }
  types.delete(EXTENSION_REQUEST);
  const none = { dnsNames: [], ipAddresses: [], otherNames: [] };
  return { ...(asked.names ?? none), otherExtensions: [...types, ...asked.others] };
}

interface Extensions {
  readonly names: RequestNames | undefined;
  /** Object identifiers. What they hold is not looked at: nobody who has one is approved. */
  readonly others: readonly string[];
}

function extensionsIn(list: DerReader): Extensions {
  const found = new Map<string, Buffer>();
  while (!list.isEmpty) {
    const extension = list.inside(tags.sequence, "an extension");
    const type = extension.oid("type");
    if (extension.nextTag === tags.boolean) {
      const { content } = extension.element(tags.boolean, "mark as critical");
      if (!content.equals(Buffer.of(0xff)))
        throw new Error(`the extension ${type} is marked as critical in an odd way`);
    }
    if (found.has(type)) throw new Error(`it has the extension ${type} twice`);
    found.set(type, extension.element(tags.octetString, "value").content);
    extension.end();
  }
  const names = found.get(SUBJECT_ALTERNATIVE_NAME);
  found.delete(SUBJECT_ALTERNATIVE_NAME);
  return { names: names && namesIn(names), others: [...found.keys()] };
}

interface Algorithm {
  readonly oid: string;
  /** DER; empty when there are none. */
  readonly parameters: Buffer;
}

function algorithmIn(reader: DerReader, what: string): Algorithm {
  const algorithm = reader.inside(tags.sequence, what);
  const oid = algorithm.oid("identifier");
  const parameters = algorithm.isEmpty ? Buffer.alloc(0) : algorithm.any().whole;
  algorithm.end();
  return { oid, parameters };
}

const derNull = Buffer.of(tags.null, 0);
const RSA = "1.2.840.113549.1.1.1";
const EC_PUBLIC_KEY = "1.2.840.10045.2.1";

/** RSA, or a point of a named curve, written out. */
function keyIn(der: Buffer): KeyObject {
  const key = new DerReader(der, "the key").inside(tags.sequence, "the key");
  const { oid, parameters } = algorithmIn(key, "the key's algorithm");
  const bits = key.bits("value");
  key.end();
  if (oid === RSA) {
    if (!parameters.equals(derNull)) throw new Error("the key's algorithm has odd parameters");
    const numbers = new DerReader(bits, "the RSA key");
    const pair = numbers.inside(tags.sequence, "the RSA key");
    numbers.end();
    checkPositive(pair.element(tags.integer, "modulus").content);
    if (!pair.element(tags.integer, "exponent").content.equals(usualExponent))
      throw new Error("the RSA key's exponent is not 65537");
    pair.end();
  } else if (oid === EC_PUBLIC_KEY) {
    if (parameters[0] !== tags.oid) throw new Error("the key's curve is not given by its name");
    if (bits[0] !== 4) throw new Error("the key's point is not written out in full");
  } else {
    throw new Error(`the key is of the kind ${oid}; keys are read that are RSA or on a named curve`);
  }
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

const usualExponent = Buffer.of(1, 0, 1);

function checkPositive([first = 0x80, second = 0]: Buffer): void {
  const isShortest = first !== 0 || second >= 0x80;
  if (first >= 0x80 || !isShortest)
    throw new Error("the RSA key's modulus is not a positive number in its shortest form");
}

/** By object identifier: the hash, the kind of key, and the parameters that go with it. */
const signatures = new Map([
  ["1.2.840.10045.4.3.2", { hash: "sha256", kind: "ec", parameters: "" }],
  ["1.2.840.10045.4.3.3", { hash: "sha384", kind: "ec", parameters: "" }],
  ["1.2.840.10045.4.3.4", { hash: "sha512", kind: "ec", parameters: "" }],
  ["1.2.840.113549.1.1.11", { hash: "sha256", kind: "rsa", parameters: derNull.toString("hex") }],
  ["1.2.840.113549.1.1.12", { hash: "sha384", kind: "rsa", parameters: derNull.toString("hex") }],
  ["1.2.840.113549.1.1.13", { hash: "sha512", kind: "rsa", parameters: derNull.toString("hex") }],
]);

function hashOf({ oid, parameters }: Algorithm, key: KeyObject): string {
  const known = signatures.get(oid);
  if (known === undefined) throw new Error(`it is signed in the manner ${oid}, which is not read`);
  if (known.parameters !== parameters.toString("hex")) throw new Error("its signature has odd parameters");
  if (known.kind !== key.asymmetricKeyType)
    throw new Error("its signature is made with another kind of key than its own");
  return known.hash;
}

/**
 * What a certificate signing request (PKCS #10) asks for. It is read to its last byte: what is not understood is an error that
 * names it, so that no signer can find in it what was not judged.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import ipaddr from "ipaddr.js";
import { wrapErrors } from "../../base/errors/error.js";
import { utf8Text } from "../../base/text.js";
import { DerReader, hex, tags } from "./der.js";
import { keyName } from "./inspect/facts.js";
import { readOneBlock } from "./pem.js";

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
  return wrapErrors("DB_CSR_REQUEST", "the certificate signing request cannot be read", () => {
    if (pem.length > LONGEST_REQUEST) throw new Error("it is far too long");
    return factsIn(readOneBlock(pem, "CERTIFICATE REQUEST"));
  });
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
  let asked = new Map<string, Buffer>();
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
  const names = asked.get(SUBJECT_ALTERNATIVE_NAME);
  asked.delete(SUBJECT_ALTERNATIVE_NAME);
  const none = { dnsNames: [], ipAddresses: [], otherNames: [] };
  // The values of others are not read: no request that has one is approved.
  return { ...(names === undefined ? none : namesIn(names)), otherExtensions: [...types, ...asked.keys()] };
}

/** The values by object identifier. */
function extensionsIn(list: DerReader): Map<string, Buffer> {
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
  return found;
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

export interface SubjectParts {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** `OU=x` for every part of the subject that is neither of the two. */
  readonly otherSubjectParts: readonly string[];
}

const partNames: Readonly<Record<string, string>> = {
  "2.5.4.3": "CN",
  "2.5.4.5": "serialNumber",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.9": "street",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
  "1.2.840.113549.1.9.1": "emailAddress",
};

export function subjectIn(subject: DerReader): SubjectParts {
  const parts: { readonly name: string; readonly value: string }[] = [];
  while (!subject.isEmpty) {
    const set = subject.inside(tags.set, "a part of the subject");
    if (set.isEmpty) throw new Error("a part of the subject is empty");
    while (!set.isEmpty) {
      const part = set.inside(tags.sequence, "a part of the subject");
      const type = part.oid("type");
      const name = partNames[type] ?? type;
      parts.push({ name, value: textOf(part.any(), name) });
      part.end();
    }
  }
  const of = (name: string) => parts.filter((part) => part.name === name).map(({ value }) => value);
  return {
    commonNames: of("CN"),
    organizations: of("O"),
    otherSubjectParts: parts
      .filter(({ name }) => name !== "CN" && name !== "O")
      .map(({ name, value }) => `${name}=${value}`),
  };
}

/** The kinds of text that readers agree on. */
const alphabets: Readonly<Record<number, RegExp>> = {
  [tags.utf8String]: /^\P{Cc}*$/u,
  // The last two do not belong here and are common all the same; Go takes them, too.
  [tags.printableString]: /^[A-Za-z0-9 '()+,\-./:=?*&]*$/,
  [tags.ia5String]: /^[\x20-\x7e]*$/,
};

const otherTexts: Readonly<Record<number, string>> = {
  18: "a NumericString",
  20: "a T61String",
  28: "a UniversalString",
  30: "a BMPString",
};

function textOf({ content, tag }: { readonly content: Buffer; readonly tag: number }, name: string): string {
  const alphabet = alphabets[tag];
  if (alphabet === undefined) {
    const kind = otherTexts[tag] ?? `of the kind 0x${hex(tag)}`;
    throw new Error(
      `the subject's ${name} is ${kind}, and texts are read that are a UTF8String, a PrintableString or an IA5String`,
    );
  }
  const text = utf8Text(content);
  if (text === undefined) throw new Error(`the subject's ${name} is not UTF-8`);
  if (!alphabet.test(text))
    throw new Error(`the subject's ${name} holds a character that its kind of text cannot have`);
  return text;
}

export interface RequestNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** `email:a@b`, `url:...` */
  readonly otherNames: readonly string[];
}

const kinds = { email: 0x81, dns: 0x82, url: 0x86, ip: 0x87 } as const;

const unread: Readonly<Record<number, string>> = {
  160: "otherName",
  163: "x400Address",
  164: "directoryName",
  165: "ediPartyName",
  136: "registeredID",
};

export function namesIn(der: Buffer): RequestNames {
  const text = new DerReader(der, "the list of names");
  const list = text.inside(tags.sequence, "the list of names");
  text.end();
  const names = { dnsNames: [] as string[], ipAddresses: [] as string[], otherNames: [] as string[] };
  while (!list.isEmpty) {
    const { content, tag } = list.any();
    if (tag === kinds.dns) names.dnsNames.push(asciiOf(content, "DNS name"));
    else if (tag === kinds.ip) names.ipAddresses.push(addressOf(content));
    else if (tag === kinds.email) names.otherNames.push(`email:${asciiOf(content, "e-mail address")}`);
    else if (tag === kinds.url) names.otherNames.push(`url:${asciiOf(content, "URI")}`);
    else throw new Error(`it asks for a name of the kind ${unread[tag] ?? `0x${hex(tag)}`}, which is not read`);
  }
  return names;
}

function asciiOf(content: Buffer, what: string): string {
  const text = content.toString("latin1");
  if (/[^\x21-\x7e]/.test(text)) throw new Error(`a ${what} in it holds a character beyond printable ASCII`);
  return text;
}

function addressOf(bytes: Buffer): string {
  if (bytes.length !== 4 && bytes.length !== 16) throw new Error(`an address in it has ${bytes.length} bytes`);
  return ipaddr.fromByteArray([...bytes]).toString();
}

/** Certificate signing requests built byte by byte and really signed, so that they can hold anything. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { pemText } from "../pem.js";

const nothing = Buffer.alloc(0);

/** One element of DER, with its length in the fewest bytes. */
export function tlv(tag: number, ...contents: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(
    contents.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part)),
  );
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

/** `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((part) => {
    const groups = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    return groups;
  });
  return tlv(0x06, Buffer.from(bytes));
}

export const utf8String = 0x0c;

/** One part of a subject, in a set of its own. */
export function subjectPart(type: string, value: Buffer | string, tag = utf8String): Buffer {
  return tlv(0x31, tlv(0x30, oid(type), tlv(tag, value)));
}

export const commonName = "2.5.4.3";
export const organization = "2.5.4.10";

/** The parts of a node's subject. */
export const nodeSubject = (name: string): Buffer[] => [
  subjectPart(organization, "system:nodes"),
  subjectPart(commonName, `system:node:${name}`),
];

export const subjectAlternativeName = "2.5.29.17";
export const dns = (name: string): Buffer => tlv(0x82, name);
export const ip = (...bytes: readonly number[]): Buffer => tlv(0x87, Buffer.from(bytes));

export function extension(type: string, value: Buffer, critical: Buffer = nothing): Buffer {
  return tlv(0x30, oid(type), critical, tlv(0x04, value));
}

export const namesExtension = (...names: readonly Buffer[]): Buffer =>
  extension(subjectAlternativeName, tlv(0x30, ...names));

/** An attribute that asks for extensions; `behind` follows the list inside its set. */
export function extensionRequest(extensions: readonly Buffer[], behind: Buffer = nothing): Buffer {
  return tlv(0x30, oid("1.2.840.113549.1.9.14"), tlv(0x31, tlv(0x30, ...extensions), behind));
}

export interface Crafted {
  readonly version: Buffer;
  /** Its parts. */
  readonly subject: readonly Buffer[];
  /** SubjectPublicKeyInfo. */
  readonly key: Buffer;
  readonly attributes: Buffer;
  /** Follows the attributes. */
  readonly behindAttributes: Buffer;
  readonly signatureAlgorithm: Buffer;
  /** Follows the signature, inside the request. */
  readonly behindSignature: Buffer;
  /** Follows the request. */
  readonly behind: Buffer;
  /** Has the last word on what is signed. */
  readonly change: (information: Buffer) => Buffer;
}

export const signers = {
  ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }),
};

export const spki = ({ publicKey }: { readonly publicKey: KeyObject }): Buffer =>
  publicKey.export({ type: "spki", format: "der" });

export const ecdsaWithSha256 = tlv(0x30, oid("1.2.840.10045.4.3.2"));
export const sha256WithRsa = tlv(0x30, oid("1.2.840.113549.1.1.11"), tlv(0x05));

/** DER. What is not given is as a kubelet has it, for the node w0. */
export function craftedRequest(given: Partial<Crafted> = {}, signer: { privateKey: KeyObject } = signers.ec): Buffer {
  const information = tlv(
    0x30,
    given.version ?? tlv(0x02, Buffer.of(0)),
    tlv(0x30, ...(given.subject ?? nodeSubject("w0"))),
    given.key ?? spki(signers.ec),
    given.attributes ?? tlv(0xa0),
    given.behindAttributes ?? nothing,
  );
  const signed = given.change?.(information) ?? information;
  const signature = sign("sha256", signed, signer.privateKey);
  const request = tlv(
    0x30,
    signed,
    given.signatureAlgorithm ?? ecdsaWithSha256,
    tlv(0x03, Buffer.of(0), signature),
    given.behindSignature ?? nothing,
  );
  return Buffer.concat([request, given.behind ?? nothing]);
}

/** Attributes that ask for these names and nothing else. */
export const attributesFor = (...names: readonly Buffer[]): Buffer =>
  tlv(0xa0, extensionRequest([namesExtension(...names)]));

export const asPem = (der: Buffer): string => pemText("CERTIFICATE REQUEST", der);

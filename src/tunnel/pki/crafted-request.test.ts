import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { inspectRequest } from "./inspect-request.js";
import {
  asPem,
  attributesFor,
  type Crafted,
  commonName,
  craftedRequest,
  dns,
  extension,
  extensionRequest,
  ip,
  namesExtension,
  nodeSubject,
  oid,
  organization,
  sha256WithRsa,
  signers,
  spki,
  subjectAlternativeName,
  subjectPart,
  tlv,
} from "./testing/crafted.js";

const read = (given: Partial<Crafted> = {}) => inspectRequest(asPem(craftedRequest(given)));
const bytes = (text: string): Buffer => Buffer.from(text, "hex");
const ucs = (text: string, width: number): Buffer =>
  Buffer.from([...text].flatMap((one) => [...new Array(width - 1).fill(0), one.charCodeAt(0)]));

describe("a request in order", () => {
  test("is read, with all its names", () => {
    const names = [dns("w0"), dns("w0.example"), ip(10, 0, 0, 1), ip(0xfd, ...new Array(14).fill(0), 1)];
    expect(read({ attributes: attributesFor(...names) })).toEqual({
      commonNames: ["system:node:w0"],
      organizations: ["system:nodes"],
      otherSubjectParts: [],
      dnsNames: ["w0", "w0.example"],
      ipAddresses: ["10.0.0.1", "fd00::1"],
      otherNames: [],
      otherExtensions: [],
      key: "P-256",
      signatureFits: true,
    });
  });

  test("may hold several texts in one set of its subject, which are read one by one", () => {
    const part = (type: string, value: string) => tlv(0x30, oid(type), tlv(0x13, value));
    const subject = [tlv(0x31, part(organization, "a"), part(commonName, "b"), part("2.5.4.11", "c"))];
    expect(read({ subject })).toMatchObject({
      commonNames: ["b"],
      organizations: ["a"],
      otherSubjectParts: ["OU=c"],
    });
  });

  test("may have an RSA key", () => {
    const given = { key: spki(signers.rsa), signatureAlgorithm: sha256WithRsa };
    const facts = inspectRequest(asPem(craftedRequest(given, signers.rsa)));
    expect(facts).toMatchObject({ key: "RSA-2048", signatureFits: true });
  });
});

const rsaNumbers = (...numbers: readonly Buffer[]): Partial<Crafted> => ({
  key: tlv(
    0x30,
    tlv(0x30, oid("1.2.840.113549.1.1.1"), tlv(0x05)),
    tlv(0x03, Buffer.of(0), tlv(0x30, ...numbers.map((number) => tlv(0x02, number)))),
  ),
});
const named = (value: Buffer | string, tag: number): Partial<Crafted> => ({
  subject: [subjectPart(organization, "system:nodes"), subjectPart(commonName, value, tag)],
});
const asking = (...extensions: readonly Buffer[]): Partial<Crafted> => ({
  attributes: tlv(0xa0, extensionRequest(extensions)),
});
const point = spki(signers.ec).subarray(-64);
const x = point.subarray(0, 32);
const p256 = tlv(0x30, oid("1.2.840.10045.2.1"), oid("1.2.840.10045.3.1.7"));

describe("what is not understood is an error that names it", () => {
  test.each<[string, Partial<Crafted>]>([
    // Around
    ["the request has 2 bytes behind its end", { behind: bytes("0500") }],
    ["the request has 2 bytes behind its end", { behindSignature: bytes("0500") }],
    ["the request has 2 bytes behind its end", { behindAttributes: bytes("0500") }],
    ["another version than 1", { version: tlv(0x02, Buffer.of(1)) }],
    ["has the tag 0x0a in the place of its version", { version: tlv(0x0a, Buffer.of(0)) }],
    ["the request has no list of attributes", { attributes: Buffer.alloc(0) }],
    // Lengths and tags
    ["not written in the fewest bytes", { version: bytes("02810100") }],
    ["indefinite length", { attributes: bytes("a0800000") }],
    ["a tag of more than one byte", { ...asking(extension(subjectAlternativeName, tlv(0x30, bytes("9f8201027730")))) }],
    ["ends too early", { attributes: bytes("a002") }],
    // The subject
    ["the subject's CN is a UniversalString", named(ucs("system:node:w0", 4), 28)],
    ["the subject's CN is a BMPString", named(ucs("system:node:w0", 2), 30)],
    ["the subject's CN is a T61String", named("system:node:w0", 20)],
    ["the subject's CN is a NumericString", named("0", 18)],
    ["the subject's CN is of the kind 0x04", named("system:node:w0", 4)],
    ["the subject's CN holds a character", named("system:node:w0\0.x", 12)],
    ["the subject's CN holds a character", named("system:node:w_0", 0x13)],
    ["the subject's CN holds a character", named("system:node:w0\x7f", 0x16)],
    ["the subject's CN is not UTF-8", named(bytes("ff"), 12)],
    ["a part of the subject is empty", { subject: [...nodeSubject("w0"), tlv(0x31)] }],
    ["in the place of its part of the subject", { subject: [tlv(0x30)] }],
    [
      "a part of the subject has 2 bytes behind its end",
      { subject: [tlv(0x31, tlv(0x30, oid(commonName), tlv(0x0c, "x"), tlv(0x05)))] },
    ],
    // Attributes and extensions
    [
      "two lists of extensions",
      { attributes: tlv(0xa0, extensionRequest([namesExtension(dns("a"))]), extensionRequest([])) },
    ],
    [
      "the value of an attribute has 2 bytes behind its end",
      { attributes: tlv(0xa0, extensionRequest([namesExtension(dns("a"))], tlv(0x30))) },
    ],
    [
      "it has the attribute 1.2.3 twice",
      { attributes: tlv(0xa0, tlv(0x30, oid("1.2.3"), tlv(0x31)), tlv(0x30, oid("1.2.3"), tlv(0x31))) },
    ],
    ["the extension 2.5.29.17 twice", asking(namesExtension(dns("a")), namesExtension(dns("b")))],
    ["critical in an odd way", asking(extension("1.2.3", tlv(0x05), bytes("010100")))],
    ["critical in an odd way", asking(extension("1.2.3", tlv(0x05), bytes("010101")))],
    ["an extension has 2 bytes behind its end", asking(tlv(0x30, oid("1.2.3"), tlv(0x04), tlv(0x05)))],
    ["its type is not written in the fewest bytes", asking(tlv(0x30, bytes("0603558011"), tlv(0x04)))],
    // Names
    ["the list of names has 2 bytes behind its end", asking(extension(subjectAlternativeName, bytes("30000500")))],
    ["of the kind otherName", asking(namesExtension(dns("w0"), tlv(0xa0, oid("1.2.3"), tlv(0xa0, tlv(0x0c, "x")))))],
    ["of the kind x400Address", asking(namesExtension(tlv(0xa3)))],
    ["of the kind directoryName", asking(namesExtension(tlv(0xa4, tlv(0x30, ...nodeSubject("w0")))))],
    ["of the kind ediPartyName", asking(namesExtension(tlv(0xa5)))],
    ["of the kind registeredID", asking(namesExtension(tlv(0x88, bytes("2a03"))))],
    ["of the kind 0xa2", asking(namesExtension(tlv(0xa2, tlv(0x16, "w0"))))],
    ["an address in it has 5 bytes", asking(namesExtension(ip(10, 0, 0, 1, 0)))],
    ["an address in it has 8 bytes", asking(namesExtension(ip(10, 0, 0, 0, 255, 0, 0, 0)))],
    ["a DNS name in it holds a character", asking(namesExtension(dns("w0\0.evil")))],
    ["a DNS name in it holds a character", asking(namesExtension(dns("b\xfccher")))],
    // Keys and signatures
    ["the key is of the kind 1.3.101.112", { key: spki(generateKeyPairSync("ed25519")) }],
    [
      "the key's curve is not given by its name",
      { key: tlv(0x30, tlv(0x30, oid("1.2.840.10045.2.1"), tlv(0x30)), tlv(0x03, Buffer.of(0, 4), point)) },
    ],
    ["the key's point is not written out in full", { key: tlv(0x30, p256, tlv(0x03, Buffer.of(0, 2), x)) }],
    ["the key: its value is not made of whole bytes", { key: tlv(0x30, p256, tlv(0x03, Buffer.of(1, 4), point)) }],
    ["the key has 2 bytes behind its end", { key: tlv(0x30, p256, tlv(0x03, Buffer.of(0, 4), point), tlv(0x05)) }],
    ["modulus is not a positive number", rsaNumbers(bytes("80"), bytes("010001"))],
    ["modulus is not a positive number", rsaNumbers(bytes("0001"), bytes("010001"))],
    ["exponent is not 65537", rsaNumbers(bytes("7f01"), bytes("03"))],
    ["signed in the manner 1.2.840.10045.4.1", { signatureAlgorithm: tlv(0x30, oid("1.2.840.10045.4.1")) }],
    ["its signature has odd parameters", { signatureAlgorithm: tlv(0x30, oid("1.2.840.10045.4.3.2"), tlv(0x05)) }],
    ["another kind of key than its own", { signatureAlgorithm: sha256WithRsa }],
  ])("%s", (why, given) => {
    expect(() => read(given)).toThrow(why);
  });
});

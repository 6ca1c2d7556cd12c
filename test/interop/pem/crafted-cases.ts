/** Requests whose parts are thrown together from what is usual, odd and wrong, and really signed. DER. */
import { generateKeyPairSync } from "node:crypto";
import {
  commonName,
  craftedRequest,
  dns,
  ecdsaWithSha256,
  extension,
  extensionRequest,
  ip,
  namesExtension,
  oid,
  organization,
  sha256WithRsa,
  signers,
  spki,
  subjectAlternativeName,
  subjectPart,
  tlv,
} from "../../../src/tunnel/pki/testing/crafted.js";
import type { Dice } from "./dice.js";

const ucs = (text: string, width: number): Buffer =>
  Buffer.from([...text].flatMap((one) => [...new Array(width - 1).fill(0), one.charCodeAt(0)]));

const nodeNames = [
  "system:node:w0",
  "system:node:w1",
  "system:node:w0\0",
  "system:node:",
  "system:node:w\xfc",
  "",
  "system:admin",
];
const textTags = [0x0c, 0x0c, 0x0c, 0x13, 0x13, 0x16, 0x14, 0x12, 0x04, 0x1a, 0x2c];
const partTypes = [commonName, organization, "2.5.4.11", "2.5.4.5", "1.2.840.113549.1.9.1", "2.5.4.3.1"];
const noBytes = Buffer.alloc(0);

function value(text: string, dice: Dice): Buffer {
  if (dice.oneIn(12)) return tlv(0x1c, ucs(text, 4));
  if (dice.oneIn(12)) return tlv(0x1e, ucs(text, 2));
  return tlv(dice.oneIn(3) ? dice.of(textTags) : 0x0c, text);
}

function subjectOf(dice: Dice): Buffer[] {
  const part = (type: string, text: string) => tlv(0x30, oid(type), value(text, dice));
  const group = part(organization, dice.oneIn(8) ? dice.of(["system:masters", "system:nodes\0", ""]) : "system:nodes");
  const name = part(commonName, dice.oneIn(4) ? dice.of(nodeNames) : "system:node:w0");
  const more = () => part(dice.of(partTypes), dice.of(nodeNames));
  if (dice.oneIn(10)) return [tlv(0x31, group, name)];
  const sets = [tlv(0x31, group), tlv(0x31, name)];
  if (dice.oneIn(8)) sets.reverse();
  if (dice.oneIn(8)) sets.push(tlv(dice.of([0x31, 0x31, 0x30]), more()));
  if (dice.oneIn(16)) sets.push(tlv(0x31));
  if (dice.oneIn(16)) sets.unshift(subjectPart(commonName, dice.of(nodeNames)));
  if (dice.oneIn(16)) sets.push(tlv(0x31, tlv(0x30, oid(commonName), tlv(0x0c, "system:node:w0"), tlv(0x0c, "x"))));
  return sets;
}

function nameOf(dice: Dice): Buffer {
  const usual = [dns("w0"), dns("w0.example"), ip(10, 0, 0, 10), ip(0xfd, ...new Array(14).fill(0), 1)];
  const odd = [
    ...[dns("w0\0.x"), dns(""), dns("W0"), dns("*"), dns("b\xfccher"), dns("kubernetes"), dns("w0.")],
    ...[ip(), ip(10, 0, 0), ip(10, 0, 0, 10, 0), ip(10, 0, 0, 0, 255, 0, 0, 0), ip(...new Array(32).fill(1))],
    ip(...new Array(10).fill(0), 0xff, 0xff, 10, 0, 0, 10),
    ...[tlv(0x81, "a@b.example"), tlv(0x86, "spiffe://x/y"), tlv(0x86, "%"), tlv(0x88, Buffer.of(0x2a, 3))],
    tlv(0xa0, oid("1.3.6.1.4.1.311.20.2.3"), tlv(0xa0, tlv(0x0c, "admin@x"))),
    ...[tlv(0xa3), tlv(0xa4, tlv(0x30, subjectPart(commonName, "x"))), tlv(0xa5), tlv(0x80), tlv(0xa2, dns("evil"))],
    ...[
      tlv(0x89, "x"),
      tlv(0xc2, "w0"),
      tlv(0x02, Buffer.of(1)),
      tlv(0x42, "evil"),
      Buffer.from("9f8201027730", "hex"),
    ],
  ];
  return dice.oneIn(5) ? dice.of(odd) : dice.of(usual);
}

function attributesOf(dice: Dice): Buffer {
  if (dice.oneIn(4)) return dice.oneIn(8) ? noBytes : tlv(0xa0);
  const names = Array.from({ length: dice.below(4) }, () => nameOf(dice));
  const list = dice.oneIn(16)
    ? extension(subjectAlternativeName, Buffer.concat([tlv(0x30, ...names), tlv(0x05)]))
    : namesExtension(...names);
  const critical = dice.of([noBytes, tlv(0x01, Buffer.of(0xff)), tlv(0x01, Buffer.of(0)), tlv(0x01, Buffer.of(1))]);
  const extensions = [list];
  if (dice.oneIn(10)) extensions.push(namesExtension(dns("evil")));
  if (dice.oneIn(10)) extensions.push(extension("2.5.29.19", tlv(0x30, tlv(0x01, Buffer.of(0xff))), critical));
  if (dice.oneIn(10)) extensions.push(extension("1.2.3.4", tlv(0x30, dns("evil")), tlv(0x01, Buffer.of(0xff))));
  if (dice.oneIn(10)) extensions[0] = extension(subjectAlternativeName, tlv(0x30, ...names), critical);
  const asked = [extensionRequest(extensions, dice.oneIn(16) ? tlv(0x30, namesExtension(dns("evil"))) : noBytes)];
  if (dice.oneIn(12)) asked.push(extensionRequest([namesExtension(dns("evil"))]));
  if (dice.oneIn(12)) asked.push(tlv(0x30, oid("1.2.840.113549.1.9.7"), tlv(0x31, tlv(0x0c, "secret"))));
  if (dice.oneIn(16)) asked.push(tlv(0x30, oid("1.2.3"), tlv(0x31)), tlv(0x30, oid("1.2.3"), tlv(0x31)));
  if (dice.oneIn(12)) asked.reverse();
  return tlv(dice.oneIn(20) ? dice.of([0xa1, 0x80, 0x31]) : 0xa0, ...asked);
}

const point = spki(signers.ec).subarray(-64);
const curve = (name: string) => tlv(0x30, oid("1.2.840.10045.2.1"), oid(name));
const keys: readonly Buffer[] = [
  ...[generateKeyPairSync("ed25519"), generateKeyPairSync("x25519")].map(spki),
  spki(generateKeyPairSync("ec", { namedCurve: "secp256k1" })),
  spki(generateKeyPairSync("ec", { namedCurve: "secp224r1" })),
  spki(generateKeyPairSync("rsa", { modulusLength: 1024 })),
  tlv(0x30, curve("1.2.840.10045.3.1.7"), tlv(0x03, Buffer.of(0, 2), point.subarray(0, 32))),
  tlv(0x30, curve("1.2.840.10045.3.1.7"), tlv(0x03, Buffer.of(0, 4), point), tlv(0x05)),
  tlv(0x30, curve("1.3.132.0.34"), tlv(0x03, Buffer.of(0, 4), point)),
  tlv(0x30, tlv(0x30, oid("1.2.840.10045.2.1")), tlv(0x03, Buffer.of(0, 4), point)),
  tlv(0x30, tlv(0x30, oid("1.2.3")), tlv(0x03, Buffer.of(0, 4), point)),
];

/** One byte more, less or other; a length in too many bytes. */
function damaged(bytes: Buffer, dice: Dice): Buffer {
  const place = dice.below(bytes.length);
  const [before, here, behind] = [bytes.subarray(0, place), bytes[place]!, bytes.subarray(place + 1)];
  const middle = dice.of([
    Buffer.of(here ^ (1 << dice.below(8))),
    Buffer.of(dice.below(256)),
    Buffer.of(here, dice.below(256)),
    noBytes,
    Buffer.of(0x81, here),
    Buffer.of(0x82, 0, here),
    Buffer.of(0x80),
  ]);
  return Buffer.concat([before, middle, behind]);
}

export function craftedCase(dice: Dice): Buffer {
  const isRsa = dice.oneIn(8);
  const signer = isRsa ? signers.rsa : signers.ec;
  const own = { key: spki(signer), signatureAlgorithm: isRsa ? sha256WithRsa : ecdsaWithSha256 };
  const rarely = (bytes: Buffer) => (dice.oneIn(24) ? bytes : noBytes);
  const request = craftedRequest(
    {
      subject: subjectOf(dice),
      attributes: attributesOf(dice),
      key: dice.oneIn(12) ? dice.of(keys) : own.key,
      signatureAlgorithm: dice.oneIn(16)
        ? dice.of([
            sha256WithRsa,
            ecdsaWithSha256,
            tlv(0x30, oid("1.2.840.10045.4.1")),
            tlv(0x30, oid("1.2.840.10045.4.3.2"), tlv(0x05)),
          ])
        : own.signatureAlgorithm,
      behindAttributes: rarely(tlv(0x05)),
      behindSignature: rarely(tlv(0x04, "x")),
      behind: rarely(Buffer.of(0)),
      ...(dice.oneIn(24) ? { version: dice.of([tlv(0x02, Buffer.of(2)), tlv(0x02), tlv(0x02, Buffer.of(0, 0))]) } : {}),
      // Damaged before it is signed, so that the signature still fits.
      change: (information) => (dice.oneIn(3) ? damaged(information, dice) : information),
    },
    signer,
  );
  return dice.oneIn(8) ? damaged(request, dice) : request;
}

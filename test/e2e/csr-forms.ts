/** Requests that say the same in unusual ways, all of them understood: what a signer makes of them must be what was judged. */
import {
  asPem,
  attributesFor,
  commonName,
  craftedRequest,
  dns,
  extension,
  extensionRequest,
  ip,
  nodeSubject,
  oid,
  organization,
  sha256WithRsa,
  signers,
  spki,
  subjectAlternativeName,
  subjectPart,
  tlv,
} from "../../src/tunnel/pki/testing/crafted.js";

export interface Form {
  readonly what: string;
  /** Node name, and its entry in the inventory has these addresses. */
  readonly node: string;
  readonly ips: readonly string[];
  readonly pem: string;
}

/** fd00:db::6 and the like. */
const v6 = (last: number): number[] => [0xfd, 0, 0, 0xdb, ...new Array(11).fill(0), last];
const mapped = (last: number): number[] => [...new Array(10).fill(0), 0xff, 0xff, 192, 0, 2, last];
const own = (last: number): Buffer => ip(192, 0, 2, last);

function form(what: string, last: number, make: (node: string) => Buffer, more: readonly string[] = []): Form {
  const node = `form-${last}`;
  return { what, node, ips: [`192.0.2.${last}`, ...more], pem: asPem(make(node)) };
}

export const forms: readonly Form[] = [
  form("a subject in PrintableStrings", 201, (node) =>
    craftedRequest({
      subject: [subjectPart(organization, "system:nodes", 0x13), subjectPart(commonName, `system:node:${node}`, 0x13)],
      attributes: attributesFor(dns(node), own(201)),
    }),
  ),
  form("a subject in one set", 202, (node) =>
    craftedRequest({
      subject: [
        tlv(
          0x31,
          tlv(0x30, oid(commonName), tlv(0x0c, `system:node:${node}`)),
          tlv(0x30, oid(organization), tlv(0x0c, "system:nodes")),
        ),
      ],
      attributes: attributesFor(dns(node), own(202)),
    }),
  ),
  form("an RSA key", 203, (node) =>
    craftedRequest(
      {
        subject: nodeSubject(node),
        key: spki(signers.rsa),
        signatureAlgorithm: sha256WithRsa,
        attributes: attributesFor(dns(node), own(203)),
      },
      signers.rsa,
    ),
  ),
  form("names twice, and in another order", 204, (node) =>
    craftedRequest({
      subject: nodeSubject(node),
      attributes: attributesFor(own(204), dns(node), own(204), dns(node)),
    }),
  ),
  form("an IPv4 address inside IPv6", 205, (node) =>
    craftedRequest({ subject: nodeSubject(node), attributes: attributesFor(dns(node), ip(...mapped(205))) }),
  ),
  form(
    "addresses of both families",
    206,
    (node) =>
      craftedRequest({ subject: nodeSubject(node), attributes: attributesFor(dns(node), own(206), ip(...v6(6))) }),
    ["fd00:db::6"],
  ),
  form("names that are marked as critical", 207, (node) =>
    craftedRequest({
      subject: nodeSubject(node),
      attributes: tlv(
        0xa0,
        extensionRequest([
          extension(subjectAlternativeName, tlv(0x30, dns(node), own(207)), tlv(0x01, Buffer.of(0xff))),
        ]),
      ),
    }),
  ),
];

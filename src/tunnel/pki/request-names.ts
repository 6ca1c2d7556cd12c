/** The subject alternative names of a certificate signing request. */
import ipaddr from "ipaddr.js";
import { DerReader, hex, tags } from "./der.js";

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

/** The other half of the DNS codec, for tests that answer: reads queries, writes answers with compressed names. */
import ipaddr from "ipaddr.js";
import { type DnsRecord, decodeName, encodeName } from "../dns.js";

const NUMBER = { A: 1, CNAME: 5, SOA: 6, AAAA: 28 } as const;

export interface DnsQuery {
  readonly id: number;
  readonly name: string;
  readonly type: "A" | "AAAA";
}

export interface AnswerParts {
  readonly rcode?: number;
  readonly truncated?: boolean;
  readonly records?: readonly DnsRecord[];
  /** Puts a SOA record with this minimum into the authority section. */
  readonly negativeSeconds?: number;
}

export function decodeQuery(message: Buffer): DnsQuery {
  const asked = decodeName(message, 12)!;
  return {
    id: message.readUInt16BE(0),
    name: asked.name,
    type: message.readUInt16BE(asked.next) === NUMBER.A ? "A" : "AAAA",
  };
}

export function encodeAnswer(query: DnsQuery, parts: AnswerParts = {}): Buffer {
  const { rcode = 0, truncated = false, records = [], negativeSeconds } = parts;
  const header = uint16(
    query.id,
    0x8180 | (truncated ? 0x0200 : 0) | rcode,
    1,
    records.length,
    negativeSeconds === undefined ? 0 : 1,
    0,
  );
  const question = Buffer.concat([encodeName(query.name)!, uint16(NUMBER[query.type], 1)]);
  // Real servers point back to the question instead of repeating its name.
  const nameOf = (name: string): Buffer => (name === query.name ? Buffer.of(0xc0, 12) : encodeName(name)!);
  const body = records.map((record) => {
    const data = record.type === "CNAME" ? nameOf(record.target) : addressBytes(record.address);
    return encodeRecord(nameOf(record.name), NUMBER[record.type], record.seconds, data);
  });
  if (negativeSeconds !== undefined) {
    const data = Buffer.concat([Buffer.of(0), Buffer.of(0), uint32(1, 2, 3, 4, negativeSeconds)]);
    body.push(encodeRecord(Buffer.of(0), NUMBER.SOA, 86_400, data));
  }
  return Buffer.concat([header, question, ...body]);
}

/** With the length in front that DNS has on TCP. */
export function framed(message: Buffer): Buffer {
  return Buffer.concat([uint16(message.length), message]);
}

function encodeRecord(name: Buffer, type: number, seconds: number, data: Buffer): Buffer {
  return Buffer.concat([name, uint16(type, 1), uint32(seconds), uint16(data.length), data]);
}

function addressBytes(address: string): Buffer {
  return Buffer.from(ipaddr.parse(address).toByteArray());
}

function uint16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}

function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

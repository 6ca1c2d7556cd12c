/** DNS messages (RFC 1035), as much of them as asking for addresses takes. Pure: bytes in, values out. */
import ipaddr from "ipaddr.js";

export type AddressType = "A" | "AAAA";

const TYPE = { A: 1, CNAME: 5, SOA: 6, AAAA: 28 } as const;
const TYPE_OPT = 41;
const CLASS_IN = 1;
const HEADER_BYTES = 12;
const FLAG = { response: 0x8000, truncated: 0x0200, recursionDesired: 0x0100 };

/**
 * A query with recursion; undefined when the name cannot be asked for. `datagramBytes` is the longest answer by UDP that the
 * asker takes (EDNS0, RFC 6891); without it that is 512.
 */
export function encodeQuery(id: number, name: string, type: AddressType, datagramBytes?: number): Buffer | undefined {
  const question = encodeName(name);
  if (question === undefined) return undefined;
  // A record of the root with the length in place of the class.
  const edns =
    datagramBytes === undefined ? [] : [0, ...bytesOf(TYPE_OPT), ...bytesOf(datagramBytes), 0, 0, 0, 0, 0, 0];
  const counts = [1, 0, 0, datagramBytes === undefined ? 0 : 1];
  const header = [id, FLAG.recursionDesired, ...counts].flatMap(bytesOf);
  return Buffer.from([...header, ...question, ...bytesOf(TYPE[type]), ...bytesOf(CLASS_IN), ...edns]);
}

const bytesOf = (word: number): number[] => [word >> 8, word & 0xff];

export interface DnsAnswer {
  readonly id: number;
  /** 0 is success, 3 says that the name does not exist. */
  readonly rcode: number;
  readonly truncated: boolean;
  /** The question as the answer repeats it; undefined when it does not. */
  readonly question: { readonly name: string; readonly type: number } | undefined;
  readonly records: readonly DnsRecord[];
  /** How long "there is none" may be believed (RFC 2308); undefined when the answer does not say. */
  readonly negativeSeconds: number | undefined;
}

export type DnsRecord =
  | { readonly type: AddressType; readonly name: string; readonly seconds: number; readonly address: string }
  | { readonly type: "CNAME"; readonly name: string; readonly seconds: number; readonly target: string };

/** Undefined: these bytes are no answer. Records of other kinds are skipped. */
export function decodeAnswer(message: Buffer): DnsAnswer | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const flags = message.readUInt16BE(2);
  const questions = message.readUInt16BE(4);
  if ((flags & FLAG.response) === 0 || questions > 1) return undefined;
  let at = HEADER_BYTES;
  let question: DnsAnswer["question"];
  if (questions === 1) {
    const asked = decodeName(message, at);
    if (asked === undefined || asked.next + 4 > message.length) return undefined;
    question = { name: asked.name, type: message.readUInt16BE(asked.next) };
    at = asked.next + 4;
  }
  const records: DnsRecord[] = [];
  for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
    const raw = readRecord(message, at);
    if (raw === undefined) return undefined;
    const record = addressOrAlias(message, raw);
    if (record === "malformed") return undefined;
    if (record !== undefined) records.push(record);
    at = raw.end;
  }
  return {
    id: message.readUInt16BE(0),
    rcode: flags & 0x0f,
    truncated: (flags & FLAG.truncated) !== 0,
    question,
    records,
    negativeSeconds: negativeSeconds(message, at),
  };
}

interface RawRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly seconds: number;
  readonly start: number;
  readonly end: number;
}

function readRecord(message: Buffer, at: number): RawRecord | undefined {
  const owner = decodeName(message, at);
  if (owner === undefined || owner.next + 10 > message.length) return undefined;
  const start = owner.next + 10;
  const end = start + message.readUInt16BE(owner.next + 8);
  if (end > message.length) return undefined;
  const seconds = message.readUInt32BE(owner.next + 4);
  return {
    name: owner.name,
    type: message.readUInt16BE(owner.next),
    class: message.readUInt16BE(owner.next + 2),
    // Times with the top bit set count as none (RFC 2181 §8).
    seconds: seconds > 0x7fff_ffff ? 0 : seconds,
    start,
    end,
  };
}

function addressOrAlias(message: Buffer, raw: RawRecord): DnsRecord | "malformed" | undefined {
  const { name, seconds, start, end } = raw;
  if (raw.class !== CLASS_IN) return undefined;
  if (raw.type === TYPE.CNAME) {
    const target = decodeName(message, start);
    return target === undefined || target.next !== end
      ? "malformed"
      : { type: "CNAME", name, seconds, target: target.name };
  }
  if (raw.type !== TYPE.A && raw.type !== TYPE.AAAA) return undefined;
  const type = raw.type === TYPE.A ? "A" : "AAAA";
  if (end - start !== (type === "A" ? 4 : 16)) return "malformed";
  return { type, name, seconds, address: ipaddr.fromByteArray([...message.subarray(start, end)]).toString() };
}

/** From the SOA record of the authority section; a message that is broken there is still a good answer. */
function negativeSeconds(message: Buffer, start: number): number | undefined {
  let at = start;
  for (let left = message.readUInt16BE(8); left > 0; left -= 1) {
    const raw = readRecord(message, at);
    if (raw === undefined) return undefined;
    if (raw.type === TYPE.SOA && raw.end - raw.start >= 20) {
      return Math.min(raw.seconds, message.readUInt32BE(raw.end - 4));
    }
    at = raw.end;
  }
  return undefined;
}

/** Whether it is about that question. Servers may leave the question out of a refusal, but never out of an answer. */
export function answersTo({ question, rcode }: DnsAnswer, name: string, type: AddressType): boolean {
  if (question === undefined) return rcode !== 0;
  return question.type === TYPE[type] && question.name === name.toLowerCase().replace(/\.$/, "");
}

export type AddressesInAnswer = {
  readonly addresses: readonly string[];
  /** For how long all of it, the aliases on the way included, may be believed. */
  readonly seconds: number;
  /** Where the aliases led; to be asked for when there is no address at it. */
  readonly end: string;
};

/** More than any zone has; an answer can hold thousands. */
const MAX_ALIASES = 16;
const MAX_ADDRESSES = 64;

/** Follows the aliases within one answer. Undefined: they lead in a circle or too far. */
export function addressesFor(name: string, type: AddressType, answer: DnsAnswer): AddressesInAnswer | undefined {
  let end = name.toLowerCase().replace(/\.$/, "");
  let seconds = 0x7fff_ffff;
  const seen = new Set([end]);
  for (;;) {
    const alias = answer.records.find((record) => record.type === "CNAME" && record.name === end);
    if (alias?.type !== "CNAME") break;
    end = alias.target;
    seconds = Math.min(seconds, alias.seconds);
    if (seen.has(end) || seen.size > MAX_ALIASES) return undefined;
    seen.add(end);
  }
  const addresses: string[] = [];
  for (const record of answer.records) {
    if (record.type !== type || record.name !== end || addresses.length >= MAX_ADDRESSES) continue;
    addresses.push(record.address);
    seconds = Math.min(seconds, record.seconds);
  }
  return { addresses, seconds, end };
}

const MAX_LABEL = 63;
/** On the wire, length bytes and the root included. */
const MAX_NAME = 255;

/** A domain name as messages have it (RFC 1035 §3.1). Undefined: it cannot be one. Any printable ASCII may stand in a label, as in DNS. */
export function encodeName(name: string): Buffer | undefined {
  const labels = name.replace(/\.$/, "").split(".");
  const parts: Buffer[] = [];
  for (const label of labels) {
    const bytes = Buffer.from(label, "latin1");
    if (bytes.length === 0 || bytes.length > MAX_LABEL || /[^\x21-\x7e]/.test(label)) return undefined;
    parts.push(Buffer.of(bytes.length), bytes);
  }
  parts.push(Buffer.of(0));
  const encoded = Buffer.concat(parts);
  return encoded.length > MAX_NAME ? undefined : encoded;
}

/**
 * Reads the name at `at` (RFC 1035 §4.1.4), as lower-case text without the final dot; `next` is where the message goes on. Undefined: malformed. Pointers may only lead back, each
 * further than the one before, so that no message can send us round in circles.
 */
export function decodeName(message: Buffer, at: number): { readonly name: string; readonly next: number } | undefined {
  const labels: string[] = [];
  let next: number | undefined;
  let limit = at;
  let length = 1;
  for (let here = at; ; ) {
    const head = message[here];
    if (head === undefined) return undefined;
    if (head === 0) return { name: labels.join(".").toLowerCase(), next: next ?? here + 1 };
    if (head >= 0xc0) {
      const low = message[here + 1];
      if (low === undefined) return undefined;
      const target = ((head & 0x3f) << 8) | low;
      if (target >= limit) return undefined;
      next ??= here + 2;
      limit = target;
      here = target;
      continue;
    }
    const end = here + 1 + head;
    length += head + 1;
    if (head > MAX_LABEL || end > message.length || length > MAX_NAME) return undefined;
    labels.push(escapeDots(message.toString("latin1", here + 1, end)));
    here = end;
  }
}

/** A dot inside a label must not look like a border between two. */
function escapeDots(label: string): string {
  return label.replaceAll("\\", "\\\\").replaceAll(".", "\\.");
}

/** The names to look up, in resolv.conf's order: a name with enough dots as it is first, one with fewer last. */
export function searchNames(name: string, searchDomains: readonly string[], ndots: number): string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const extended = searchDomains.map((domain) => `${name}.${domain}`);
  return name.split(".").length - 1 >= ndots ? [name, ...extended] : [...extended, name];
}

/** Header blocks (RFC 7541): everything peers may send is read; what we send is never compressed. */
import { SessionError } from "./frames.js";

export type Header = readonly [name: string, value: string];

/** The specification's static table, by index from 1, as `name` or `name=value`. */
const STATIC: readonly Header[] = (
  ":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|" +
  ":status=204|:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|" +
  "accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|" +
  "authorization|cache-control|content-disposition|content-encoding|content-language|content-length|" +
  "content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|" +
  "if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|" +
  "proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|" +
  "strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
)
  .split("|")
  .map((entry) => {
    const [name = "", value = ""] = entry.split("=");
    return [name, value];
  });

/** Size of the table that the specification gives an encoder by default; we never allow more. */
const TABLE_BYTES = 4096;
const ENTRY_OVERHEAD = 32;

/** More than any peer of ours sends; it is announced to peers. */
export const MAX_LIST_BYTES = 64 * 1024;

function bad(what: string): never {
  throw new SessionError("COMPRESSION_ERROR", what);
}

export class HeaderDecoder {
  /** Newest first. */
  readonly #dynamic: Header[] = [];
  #size = 0;
  #limit = TABLE_BYTES;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  decode(block: Buffer): Header[] {
    this.#bytes = block;
    this.#at = 0;
    const headers: Header[] = [];
    let total = 0;
    while (this.#at < block.length) {
      const header = this.#field(block[this.#at]!);
      if (header === undefined) continue;
      total += sizeOf(header);
      if (total > MAX_LIST_BYTES) throw new SessionError("ENHANCE_YOUR_CALM", "the header list is too long");
      headers.push(header);
    }
    return headers;
  }

  /** Undefined for an instruction that is no header. */
  #field(first: number): Header | undefined {
    if (first & 0x80) return this.#entry(this.#integer(7));
    if (first & 0x40) {
      const header = this.#literal(6);
      this.#dynamic.unshift(header);
      this.#size += sizeOf(header);
      this.#evict();
      return header;
    }
    if (first & 0x20) {
      const limit = this.#integer(5);
      if (limit > TABLE_BYTES) bad("the header table is larger than allowed");
      this.#limit = limit;
      this.#evict();
      return undefined;
    }
    return this.#literal(4);
  }

  #literal(prefixBits: number): Header {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #entry(index: number): Header {
    const entry = index <= STATIC.length ? STATIC[index - 1] : this.#dynamic[index - STATIC.length - 1];
    return entry ?? bad("no such header table entry");
  }

  #evict(): void {
    while (this.#size > this.#limit) this.#size -= sizeOf(this.#dynamic.pop()!);
  }

  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (value > MAX_LIST_BYTES) bad("a header integer is too large");
      if (byte < 0x80) return value;
      // Endless zero groups would never grow the value.
      if (scale > MAX_LIST_BYTES) bad("a header integer is too long");
    }
  }

  #string(): string {
    const huffman = (this.#bytes[this.#at] ?? 0) & 0x80;
    const length = this.#integer(7);
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) bad("a header string is cut short");
    const raw = this.#bytes.subarray(from, this.#at);
    return huffman ? decodeHuffman(raw) : raw.toString("latin1");
  }

  #byte(): number {
    return this.#bytes[this.#at++] ?? bad("a header block is cut short");
  }
}

function sizeOf([name, value]: Header): number {
  return name.length + value.length + ENTRY_OVERHEAD;
}

/** Literals without indexing: the peer's table stays empty, and nothing of a token stays in it. */
export function encodeHeaders(headers: Iterable<Header>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of headers) parts.push(Buffer.from([0x00]), encodeString(name), encodeString(value));
  return Buffer.concat(parts);
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) | 0x80);
  length.push(rest);
  return Buffer.concat([Buffer.from(length), bytes]);
}

/**
 * HPACK's Huffman code (RFC 7541, appendix B), read only: we send header values as they are. The length of each symbol's code in base 36, symbols 0 to 255 and the end marker. The code is canonical: within a
 * length, codes count up in the order of the symbols, so the lengths are all there is to know.
 */
const LENGTHS =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f5656566657766656765567777" +
  "7fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrr" +
  "srrrrrqu";

const LONGEST = 30;

/** For each length: the first code, and where its symbols begin in SYMBOLS. */
const firstCode = new Int32Array(LONGEST + 2);
const firstIndex = new Int32Array(LONGEST + 2);
const SYMBOLS: number[] = [];

for (let length = 1, code = 0; length <= LONGEST; length++) {
  code *= 2;
  firstCode[length] = code;
  firstIndex[length] = SYMBOLS.length;
  for (let symbol = 0; symbol < LENGTHS.length; symbol++) {
    if (Number.parseInt(LENGTHS[symbol]!, 36) !== length) continue;
    SYMBOLS.push(symbol);
    code++;
  }
}
firstIndex[LONGEST + 1] = SYMBOLS.length;

const END_MARKER = 256;

export function decodeHuffman(bytes: Buffer): string {
  const out: number[] = [];
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      length++;
      const offset = code - firstCode[length]!;
      if (offset < firstIndex[length + 1]! - firstIndex[length]!) {
        const symbol = SYMBOLS[firstIndex[length]! + offset]!;
        if (symbol === END_MARKER) throw new SessionError("COMPRESSION_ERROR", "Huffman end marker in a string");
        out.push(symbol);
        code = 0;
        length = 0;
      } else if (length === LONGEST) throw new SessionError("COMPRESSION_ERROR", "no such Huffman code");
    }
  }
  // What is left over is padding: fewer than eight bits, all of them ones.
  if (length > 7 || code !== 2 ** length - 1) throw new SessionError("COMPRESSION_ERROR", "bad Huffman padding");
  return Buffer.from(out).toString("latin1");
}

/** A strict reader of DER: each value has one encoding, and every byte is checked. */

/** Tags of the universal class, constructed bit included. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  sequence: 0x30,
  set: 0x31,
} as const;

export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
  /** The element with its tag and length. */
  readonly whole: Buffer;
}

/** Reads elements one after the other. Every error is one sentence that begins with what is being read. */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #at = 0;

  /** `what` is the subject of sentences: `the subject`. */
  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The tag of the next element; undefined at the end. */
  get nextTag(): number | undefined {
    return this.#bytes[this.#at];
  }

  any(): DerElement {
    const start = this.#at;
    const tag = this.#byte();
    if ((tag & 0x1f) === 0x1f) throw new Error(`${this.#what} has a tag of more than one byte`);
    const length = this.#length();
    if (length > this.#bytes.length - this.#at) throw new Error(`${this.#what} ends too early`);
    const content = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return { tag, content, whole: this.#bytes.subarray(start, this.#at) };
  }

  element(tag: number, name: string): DerElement {
    if (this.isEmpty) throw new Error(`${this.#what} has no ${name}`);
    const found = this.any();
    if (found.tag === tag) return found;
    throw new Error(`${this.#what} has the tag 0x${hex(found.tag)} in the place of its ${name} (0x${hex(tag)})`);
  }

  /** A reader of a constructed element; `what` is the subject of sentences about it. */
  inside(tag: number, what: string): DerReader {
    return new DerReader(this.element(tag, what.replace(/^(the|its|an?) /, "")).content, what);
  }

  oid(name: string): string {
    return oidText(this.element(tags.oid, name).content, `${this.#what}: its ${name}`);
  }

  /** The bytes of a bit string, whose count of unused bits must be zero. */
  bits(name: string): Buffer {
    const { content } = this.element(tags.bitString, name);
    if (content[0] !== 0) throw new Error(`${this.#what}: its ${name} is not made of whole bytes`);
    return content.subarray(1);
  }

  end(): void {
    const rest = this.#bytes.length - this.#at;
    if (rest > 0) throw new Error(`${this.#what} has ${rest} bytes behind its end`);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new Error(`${this.#what} ends too early`);
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    if (first === 0x80) throw new Error(`${this.#what} has an indefinite length, which DER does not know`);
    const count = first & 0x7f;
    if (count > 4) throw new Error(`${this.#what} has a length of ${count} bytes`);
    let length = 0;
    for (let index = 0; index < count; index++) length = length * 256 + this.#byte();
    const isShortest = length >= 0x80 && length >= 256 ** (count - 1);
    if (!isShortest) throw new Error(`${this.#what} has a length that is not written in the fewest bytes`);
    return length;
  }
}

/** An object identifier such as `2.5.29.17`. No assigned part is longer than 31 bits. */
function oidText(content: Buffer, what: string): string {
  const parts: number[] = [];
  let value = 0;
  let isInside = false;
  for (const byte of content) {
    if (!isInside && byte === 0x80) throw new Error(`${what} is not written in the fewest bytes`);
    value = value * 128 + (byte & 0x7f);
    if (value > 0x7fffffff) throw new Error(`${what} has a part that is too large`);
    isInside = byte >= 0x80;
    if (isInside) continue;
    parts.push(value);
    value = 0;
  }
  const [first] = parts;
  if (isInside || first === undefined) throw new Error(`${what} ends too early`);
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...parts.slice(1)].join(".");
}

export function hex(tag: number): string {
  return tag.toString(16).padStart(2, "0");
}

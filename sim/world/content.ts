/** Bytes that every stream of a world has of its own, and that cost next to nothing to make and to compare. */
import { hashOf, Random } from "./random.js";

/** A prime number, so that no buffer's size divides it. */
const PATTERN_BYTES = 1_048_573;
const LONGEST_PIECE = 256 * 1024;

const pattern = Buffer.alloc(PATTERN_BYTES + LONGEST_PIECE);
{
  const random = new Random(1, "content");
  for (let at = 0; at + 4 <= PATTERN_BYTES; at += 4) pattern.writeUInt32LE(random.uint32(), at);
  pattern.copy(pattern, PATTERN_BYTES, 0, LONGEST_PIECE);
}

export class Content {
  readonly #from: number;

  constructor(seed: number, name: string) {
    this.#from = (hashOf(name) ^ Math.imul(seed, 0x9e3779b1)) >>> 0;
  }

  /** The stream's bytes at a place; nobody may change them. */
  piece(at: number, length: number): Buffer {
    const from = (this.#from + at) % PATTERN_BYTES;
    return pattern.subarray(from, from + Math.min(length, LONGEST_PIECE));
  }

  /** The first place where the bytes are others than the stream has there; undefined: they are the same. */
  differsAt(at: number, bytes: Uint8Array): number | undefined {
    for (let from = 0; from < bytes.length; from += LONGEST_PIECE) {
      const part = bytes.subarray(from, from + LONGEST_PIECE);
      const own = this.piece(at + from, part.length);
      if (own.compare(part) === 0) continue;
      return at + from + part.findIndex((byte, index) => byte !== own[index]);
    }
    return undefined;
  }
}

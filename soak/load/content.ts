import { type Cipher, createCipheriv, createHash } from "node:crypto";

const ZEROS = Buffer.alloc(256 * 1024);

/**
 * What travels in one direction of one tunnel: endless bytes that depend on the tunnel, the direction and the position,
 * and repeat nowhere. A byte lost, doubled, moved or taken from elsewhere shows at once.
 */
export class Content {
  readonly #cipher: Cipher;
  position = 0;

  constructor(name: string) {
    const key = createHash("sha256").update(name).digest().subarray(0, 16);
    this.#cipher = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  }

  /** The next bytes, in a buffer of their own. */
  next(bytes: number): Buffer {
    this.position += bytes;
    if (bytes <= ZEROS.length) return this.#cipher.update(ZEROS.subarray(0, bytes));
    return this.#cipher.update(Buffer.alloc(bytes));
  }

  /** Compares what arrived with the next bytes; the position of the first wrong byte, or undefined. */
  wrongAt(chunk: Buffer): number | undefined {
    const start = this.position;
    for (let from = 0; from < chunk.length; from += ZEROS.length) {
      const part = chunk.subarray(from, from + ZEROS.length);
      const right = this.next(part.length);
      if (right.equals(part)) continue;
      return start + from + part.findIndex((byte, index) => byte !== right[index]);
    }
    return undefined;
  }
}

/** HPACK's Huffman code (RFC 7541, appendix B), read only: we send header values as they are. */
import { ErrorCode, SessionError } from "./frames.js";

/**
 * The length of each symbol's code in base 36, symbols 0 to 255 and the end marker. The code is canonical: within a
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
        if (symbol === END_MARKER)
          throw new SessionError(ErrorCode.COMPRESSION_ERROR, "Huffman end marker in a string");
        out.push(symbol);
        code = 0;
        length = 0;
      } else if (length === LONGEST) throw new SessionError(ErrorCode.COMPRESSION_ERROR, "no such Huffman code");
    }
  }
  // What is left over is padding: fewer than eight bits, all of them ones.
  if (length > 7 || code !== 2 ** length - 1)
    throw new SessionError(ErrorCode.COMPRESSION_ERROR, "bad Huffman padding");
  return Buffer.from(out).toString("latin1");
}

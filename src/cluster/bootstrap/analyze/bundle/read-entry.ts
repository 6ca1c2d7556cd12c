/** Contents of an entry, whole or by lines, within bounds. */
import type { BundleEntry } from "./entry.js";

/** The longest line that is looked at; what stands behind is passed over. */
const LONGEST_LINE = 16 * 1024;

/** Undefined when it is larger than that. */
export async function wholeText(entry: BundleEntry, largest: number): Promise<string | undefined> {
  if (entry.size > largest) return undefined;
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of entry.content()) {
    length += piece.length;
    if (length > largest) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

export interface Line {
  readonly number: number;
  readonly text: string;
}

export async function* linesOf(content: AsyncIterable<Buffer>): AsyncGenerator<Line, void, void> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of content) {
    let start = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      yield { number: ++number, text: textOf(rest, piece.subarray(start, end)) };
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    // Copied: the chunk is the stream's own and may be long.
    if (rest.length < LONGEST_LINE) rest = Buffer.concat([rest, piece.subarray(start, start + LONGEST_LINE)]);
  }
  if (rest.length > 0) yield { number: ++number, text: textOf(rest, Buffer.alloc(0)) };
}

function textOf(first: Buffer, second: Buffer): string {
  const line = first.length === 0 ? second : Buffer.concat([first, second]);
  return line.toString("utf8", 0, LONGEST_LINE).replace(/\r$/, "");
}

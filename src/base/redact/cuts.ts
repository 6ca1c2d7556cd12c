/** Parts of a text that are replaced, and where lines end. */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Cut extends Span {
  readonly instead: string;
}

/** The text with the cuts made, which may come in any order; one that begins inside another only extends it. */
export function withCuts(text: string, cuts: readonly Cut[]): string {
  let out = "";
  let kept = 0;
  for (const { from, to, instead } of [...cuts].sort((one, other) => one.from - other.from)) {
    if (from >= kept) out += text.slice(kept, from) + instead;
    kept = Math.max(kept, to);
  }
  return kept === 0 ? text : out + text.slice(kept);
}

/** The offset of the next line break, or `limit`. */
export function endOfLine(text: string, from: number, limit = text.length): number {
  const at = text.slice(from, limit).indexOf("\n");
  return at === -1 ? limit : from + at;
}

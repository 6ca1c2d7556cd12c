/** Text for terminals, logs and reports. */

/** Foreign text as one line that can be shown anywhere: no control sequences, and not more than `longest` characters. */
export function plainText(text: string, longest = 600): string {
  const line = text
    .replace(/\s+/g, " ")
    // Control characters, bidirectional overrides and half surrogates, none of which XML or a terminal should get.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\ufffe\uffff]/gu, "\ufffd")
    .trim();
  return line.length <= longest ? line : `${[...line].slice(0, longest).join("")}...`;
}

/** Foreign text with its lines and tabs kept, and every other control character replaced. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    character === "\n" || character === "\t" ? character : "\ufffd",
  );
}

/** Markup, control characters that JSON leaves alone (a terminal obeys some), line separators, bidirectional overrides. */
const UNSAFE_IN_JSON = /[<\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** JSON that is harmless wherever it is shown; whoever parses it gets the very same strings. */
export function safeJson(value: object, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Rows of cells, each column as wide as its widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}

/** The words of a text in lines of at most `width` characters; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const DURATION_UNITS = [
  ["d", 24 * 60 * 60_000],
  ["h", 60 * 60_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The two largest parts: `364 d 23 h`, `1 h 5 min`, `12 s`. */
export function roughDuration(ms: number): string {
  let left = Math.max(0, ms);
  const first = DURATION_UNITS.findIndex(([, size]) => left >= size);
  if (first < 0) return "0 s";
  const parts: string[] = [];
  for (const [name, size] of DURATION_UNITS.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(" ");
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined for bytes that are not UTF-8; a byte order mark is kept. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A stranger's certificate may name a year that no date can have. */
export const isoTime = (at: number): string =>
  Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : "a time out of range";

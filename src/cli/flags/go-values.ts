/** Booleans, numbers, lists and quoted text as Go's strconv, encoding/csv and fmt read and write them. */

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A string as Go's `%q` shows it inside an error. */
export function quote(text: string): string {
  let quoted = '"';
  for (const character of text)
    quoted += ESCAPES[character] ?? (PRINTABLE.test(character) ? character : escaped(character));
  return `${quoted}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Lone surrogates cannot exist in a Go string; they arrive there as the replacement character.
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** A shorthand letter as pflag shows it: `'v'`. pflag reads one byte only. */
export function quoteShorthand(shorthands: string): string {
  const [first = 0] = Buffer.from(shorthands.slice(0, 2));
  const character = String.fromCharCode(first);
  if (character === "'") return "'\\''";
  if (character === '"') return "'\"'";
  return `'${quote(character).slice(1, -1)}'`;
}

function notANumber(parser: string, text: string, fault = "invalid syntax"): Error {
  return new Error(`strconv.${parser}: parsing ${quote(text)}: ${fault}`);
}

/** Throws an Error with Go's text, as all readers below do. */
export function parseBool(text: string): boolean {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  throw notANumber("ParseBool", text);
}

// Underscores may separate digits and may follow the base prefix (a leading 0 is one), as in Go's own literals.
const LITERAL = /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;
const DECIMAL = /^([+-]?)0*([0-9]+)$/;

/** `base` 0 takes Go's prefixes (0x, 0b, 0o, 0) and underscores; 10 takes digits only. */
export function parseInteger(text: string, base: 0 | 10, bits: 32 | 64): number {
  const [, sign, literal] = (base === 0 ? LITERAL : DECIMAL).exec(text) ?? [];
  if (literal === undefined) throw notANumber("ParseInt", text);
  const digits = literal.replaceAll("_", "").replace(/^0(?=[0-7])/, "0o");
  const value = BigInt(digits) * (sign === "-" ? -1n : 1n);
  const limit = 1n << BigInt(bits - 1);
  if (value < -limit || value >= limit) throw notANumber("ParseInt", text, "value out of range");
  return Number(value);
}

const FLOAT = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** Decimal notation only; Go also reads hexadecimal floats, `inf` and `nan`, which make no sense for a rate. */
export function parseFloat32(text: string): number {
  if (!FLOAT.test(text)) throw notANumber("ParseFloat", text);
  const value = Math.fround(Number(text));
  if (!Number.isFinite(value)) throw notANumber("ParseFloat", text, "value out of range");
  return value;
}

/** One line of comma-separated values, which is how pflag splits a string slice. */
export function parseList(text: string): string[] {
  if (text === "") return [];
  const fields: string[] = [];
  for (let at = 0; ; at++) {
    const isQuoted = text[at] === '"';
    const field = isQuoted ? /"((?:[^"]|"")*)"(?=,|$)/y : /([^",]*)(?=,|$)/y;
    field.lastIndex = at;
    const [matched, value = ""] = field.exec(text) ?? [];
    if (matched === undefined) {
      // Go names the byte where its reader stopped: the first bare quote, or the quote that ends too early.
      const stop = isQuoted ? text.slice(at).search(/(?<=^"([^"]|"")*)("(?!")|$)/) : text.slice(at).indexOf('"');
      const column = Buffer.byteLength(text.slice(0, at + stop)) + 1;
      const fault = isQuoted ? 'extraneous or missing " in quoted-field' : 'bare " in non-quoted-field';
      throw new Error(`parse error on line 1, column ${column}: ${fault}`);
    }
    fields.push(isQuoted ? value.replaceAll('""', '"') : value);
    at += matched.length;
    if (at >= text.length) return fields;
  }
}

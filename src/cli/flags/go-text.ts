/** Go's `%q`: the way Go programs show a string inside an error. */

const named: Readonly<Record<string, string>> = {
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

export function quote(text: string): string {
  let quoted = '"';
  for (const character of text)
    quoted += named[character] ?? (PRINTABLE.test(character) ? character : escaped(character));
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

/** A character the way pflag shows a shorthand letter: `'v'`. pflag looks at one byte only. */
export function quoteShorthand(shorthands: string): string {
  const [first = 0] = Buffer.from(shorthands.slice(0, 2));
  const character = String.fromCharCode(first);
  if (character === "'") return "'\\''";
  if (character === '"') return "'\"'";
  return `'${quote(character).slice(1, -1)}'`;
}

/** Names in a bounded place: what they have in common is left out, what tells them apart stays. */

/** Each name in at most `width` characters. */
export function distinctNames(names: readonly string[], width: number): string[] {
  if (names.every(({ length }) => length <= width)) return [...names];
  const different = [...new Set(names)];
  const [first = "", ...others] = different;
  const before = others.length === 0 ? 0 : shared(first, others, (text, at) => text[at]);
  const rest = different.map((name) => name.slice(before));
  const after = others.length === 0 ? 0 : shared(rest[0]!, rest.slice(1), (text, at) => text[text.length - 1 - at]);
  return names.map((name) => shortened(name, before, name.length - after, width));
}

/** How many characters all have in common from one end. */
function shared(
  first: string,
  others: readonly string[],
  at: (text: string, index: number) => string | undefined,
): number {
  let count = 0;
  while (count < first.length && others.every((text) => at(text, count) === at(first, count))) count++;
  return count;
}

/** The part from `from` to `to` tells this name from the others. */
function shortened(name: string, from: number, to: number, width: number): string {
  if (name.length <= width) return name;
  const part = name.slice(from, to);
  if (part.length + 2 > width || part === "") return inTheMiddle(from === to ? name : part, width);
  // The end goes first: domains are at the end.
  if (to + 1 <= width) return `${name.slice(0, width - 1)}…`;
  return `…${name.slice(to - width + 2, to)}…`;
}

function inTheMiddle(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}

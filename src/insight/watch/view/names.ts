/** Names in a bounded place, such that they can still be told apart. */

/** Those that fit stay whole. Of the others goes what they all have in common, as much as it takes, then what is in the middle. */
export function shortNames(names: readonly string[], length: number): (name: string) => string {
  const long = names.filter((name) => name.length > length);
  const longest = Math.max(0, ...long.map((name) => name.length));
  const end = commonEnd(long, longest - length + 1);
  const withoutEnd = (name: string): string => (end === 0 ? name : `${name.slice(0, name.length - end)}…`);
  const tooMany = Math.max(0, ...long.map((name) => withoutEnd(name).length - length));
  const start = tooMany === 0 ? 0 : commonStart(long, tooMany + 1);
  const without = (name: string): string => (start === 0 ? withoutEnd(name) : `…${withoutEnd(name).slice(start)}`);
  const ways = CUTS.map((cut) => (name: string) => (name.length <= length ? name : cut(without(name), length)));
  const distinct = ways.map((way) => new Set(names.map(way)).size);
  return ways[distinct.indexOf(Math.max(...distinct))]!;
}

/** In the middle first, since both ends tell more; otherwise where the names differ. */
const CUTS: readonly ((text: string, length: number) => string)[] = [
  (text, length) => cutAt(text, length, Math.floor((length - 1) / 2)),
  (text, length) => cutAt(text, length, 0),
  (text, length) => cutAt(text, length, length - 1),
];

/** So many letters are kept of its beginning, the rest of its end. */
function cutAt(text: string, length: number, kept: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, kept)}…${text.slice(text.length - (length - 1 - kept))}`;
}

/** At least so much if there is so much, and up to a place where a word ends, so that no half of a number is left. */
function commonStart(names: readonly string[], least: number): number {
  const shared = sharedLetters(names);
  const ends = [...shared].flatMap((letter, at) => (SEPARATORS.includes(letter) ? [at + 1] : []));
  return ends.find((end) => end >= least) ?? ends.at(-1) ?? 0;
}

const commonEnd = (names: readonly string[], least: number): number =>
  commonStart(
    names.map((name) => [...name].reverse().join("")),
    least,
  );

function sharedLetters([first = "", ...others]: readonly string[]): string {
  if (others.length === 0) return "";
  let length = first.length;
  for (const other of others) {
    let same = 0;
    while (same < length && other[same] === first[same]) same++;
    length = same;
  }
  return first.slice(0, length);
}

const SEPARATORS = "-._:/";

/**
 * Finds names with values in text of any kind (YAML, JSON, INI, environments, command lines, headers, XML, logs) and takes
 * the values of secret names out. Every character is looked at a bounded number of times.
 */
import { type Cut, endOfLine, withCuts } from "./cuts.js";
import { isCredentialHeader, isPasswordName, isPlainValue, isSecretName, REMOVED } from "./names.js";

/** Every secret name has one of these in it. */
const PART_OF_NAME = /pass|pwd|pw\b|secret|token|credential|key|auth|cookie|bearer|jwt|psk|otp|sig|mnemonic|sas|sess/gi;

const NAME_SIGN = /[\w.-]/;
const NAME_SIGNS = /[\w.-]*/y;

export function withoutSecretValues(text: string): string {
  const part = new RegExp(PART_OF_NAME);
  const lines = new Lines(text);
  const cuts: Cut[] = [];
  let from = 0;
  for (;;) {
    part.lastIndex = from;
    const found = part.exec(text);
    if (found === null) break;
    let start = found.index;
    while (start > from && NAME_SIGN.test(text[start - 1]!)) start--;
    const end = skip(text, NAME_SIGNS, part.lastIndex);
    from = end;
    const value = secretValue(lines, start, end);
    if (value === undefined) continue;
    cuts.push(value);
    from = Math.max(value.to, end);
  }
  return withCuts(text, cuts);
}

/** The line that a place is in, found once for all places in it. Places come in the order of the text. */
class Lines {
  readonly text: string;
  #from = 0;
  #to = -1;

  constructor(text: string) {
    this.text = text;
  }

  /** From the start of the line to its end. */
  around(at: number): readonly [number, number] {
    while (at > this.#to) {
      this.#from = this.#to + 1;
      this.#to = endOfLine(this.text, this.#from);
    }
    return [this.#from, this.#to];
  }
}

function secretValue(lines: Lines, start: number, end: number): Cut | undefined {
  const { text } = lines;
  const name = text.slice(start, end);
  if (!isSecretName(name)) return undefined;
  const gap = gapAfter(text, start, end);
  if (gap === undefined) return undefined;
  const { from, by } = gap;
  const [lineStart] = lines.around(start);
  const [, lineEnd] = lines.around(from);
  // `"cookie": 7` is no header.
  const isBare = /["'`]/.test(text[end] ?? "") && !/["'`[\\]/.test(text[from] ?? "");
  const place = { text, name, start, from, by, lineStart, lineEnd };
  return isCredentialHeader(name) && by !== "space" && !isBare ? headerValue(place) : plainValue(place);
}

/** A secret name, and where its value begins in the line. */
interface Place {
  readonly text: string;
  readonly name: string;
  readonly start: number;
  readonly from: number;
  readonly by: By;
  readonly lineStart: number;
  readonly lineEnd: number;
}

type By = "colon" | "equals" | "space" | "tag" | "pair";

const SPACES = /[ \t]*/y;
/** `"name": "TOKEN", "value": ...`, over lines as YAML writes it. */
const PAIRED = /\\{0,8}["']?\s{0,200},?\s{0,200}\\{0,8}["']?value\\{0,8}["']?[ \t]{0,200}[:=][ \t]{0,200}/iy;
const QUOTED_NEXT = /[ \t]{1,20}(?:is|was|by|to)?[ \t]{0,20}(?=\\{0,8}["'])/iy;
/** `password is wrong` says something else. */
const SAID_NEXT = /[ \t]{1,20}(?:is|was)[ \t]{1,20}(?=[a-z]{0,64}[^\sa-z,;:.]|[a-z]{1,64}\.\w)/y;
/** The next word of a list: `["--token", "x"]`, or the next line of YAML. */
const NEXT_WORD =
  /\\{0,8}["'][ \t]{0,20},[ \t]{0,20}(?:\r?\n[ \t]{0,200})?(?=\\{0,8}["'][^-])|["']?[ \t\r]{0,20}\n[ \t]{0,200}- +(?=[^-\s])/y;
const CLOSING_QUOTE = /&(?:quot|#34|#39|apos);|\\{0,8}["'`]/y;
const SIGN = /:=|=>|[:=]/y;

function gapAfter(text: string, start: number, end: number): { from: number; by: By } | undefined {
  const isFlag = text[start] === "-";
  if (text[start - 1] === "<" && text[end] === ">") return { from: end + 1, by: "tag" };
  const afterQuote = skip(text, CLOSING_QUOTE, end);
  const sign = skip(text, SPACES, afterQuote);
  const afterSign = skip(text, SIGN, sign);
  if (afterSign > sign) {
    // `https://...` is no value of `https`, nor is `a::b` one of `a`.
    if (text.startsWith("::", sign) || text.startsWith("://", sign)) return undefined;
    const by = text[sign] === ":" && text[sign + 1] !== "=" ? "colon" : "equals";
    return { from: skip(text, SPACES, afterSign), by };
  }
  const nextWord = isFlag ? skip(text, NEXT_WORD, end) : end;
  if (nextWord > end) return { from: nextWord, by: "space" };
  const paired = skip(text, PAIRED, end);
  if (paired > end) return { from: paired, by: "pair" };
  if (isFlag && afterQuote === end && sign > end && text[sign] !== "-") return { from: sign, by: "space" };
  const name = text.slice(start, end);
  if (isPasswordName(name) || /token$/i.test(name)) {
    const quoted = skip(text, QUOTED_NEXT, end);
    if (quoted > end) return { from: quoted, by: "space" };
  }
  const said = isPasswordName(name) ? skip(text, SAID_NEXT, end) : end;
  return said > end ? { from: said, by: "space" } : undefined;
}

function skip(text: string, form: RegExp, at: number): number {
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : at;
}

/** To the end of the line, or of the quotation or brackets it stands in; the scheme says what it was. */
function headerValue({ text, start, from, lineEnd }: Place): Cut | undefined {
  if (text[from] === "{" || text.slice(from, Math.min(lineEnd, from + 200)).trim() === "") return undefined;
  const quote = openedBy(text, start);
  const [opening, closing] =
    text[from] === "[" ? ["[", "]"] : /["'`\\]/.test(text[from] ?? "") ? quoteAt(text, from) : ["", quote];
  const begin = from + opening.length;
  const found = closing === "" ? -1 : closingAt(text, closing, begin, lineEnd);
  const to = found === -1 ? lineEnd : found;
  if (to === begin) return undefined;
  const scheme = /^[A-Za-z][\w-]{0,20}[ \t]+(?=\S)/.exec(text.slice(begin, begin + 40))?.[0] ?? "";
  const kept = /^(?:basic|bearer|digest|negotiate|ntlm|token|aws4-hmac-sha256)\b/i.test(scheme) ? scheme : "";
  return { from: begin, to, instead: `${kept}${REMOVED}` };
}

/** The quotation mark right before a name: `'Authorization: ...'`. */
function openedBy(text: string, start: number): string {
  const mark = text[start - 1] ?? "";
  if (mark !== '"' && mark !== "'") return "";
  return "\\".repeat(backslashesBefore(text, start - 1)) + mark;
}

/** The opening mark at a place with the backslashes before it, and what closes it. */
function quoteAt(text: string, at: number): [string, string] {
  let mark = at;
  while (text[mark] === "\\" && mark - at < 8) mark++;
  if (!/["'`]/.test(text[mark] ?? "")) return ["", ""];
  const opening = text.slice(at, mark + 1);
  return [opening, opening];
}

function backslashesBefore(text: string, at: number): number {
  let count = 0;
  while (count < 8 && text[at - 1 - count] === "\\") count++;
  return count;
}

/** -1 when it is not closed before the end. A mark with more backslashes before it stands inside. */
function closingAt(text: string, closing: string, from: number, end: number): number {
  const line = text.slice(from, end);
  for (let found = line.indexOf(closing); found !== -1; found = line.indexOf(closing, found + 1)) {
    const at = from + found;
    if (closing === "]" || backslashesBefore(text, at + closing.length - 1) === closing.length - 1) return at;
  }
  return -1;
}

function plainValue(place: Place): Cut | undefined {
  const { text, name, start, from, by, lineStart, lineEnd } = place;
  const before = text.slice(Math.max(lineStart, start - 80), start);
  const isFirst = start - lineStart <= 80 && LINE_BEGIN.test(before);
  const rest = text.slice(from, Math.min(lineEnd, from + 40));
  if (by === "tag") {
    const close = text.slice(from, from + LONGEST_LIST).indexOf("<");
    return cut(text, name, from, close === -1 ? lineEnd : from + close);
  }
  if (isFirst && by === "colon" && /^(?:[|>][-+\d]{0,3}|)[ \t\r]*(?:#.*)?$/.test(rest) && lineEnd - from < 40)
    return blockValue(place);
  if (/^(?:[{|>]|$)/.test(rest)) return undefined;
  if (rest[0] === "[") {
    if (rest.startsWith(REMOVED) || /^\[\s*\\{0,8}["']?\[removed\]/.test(rest)) return undefined;
    const close = text.slice(from, Math.min(lineEnd, from + LONGEST_LIST)).indexOf("]");
    const list = cut(text, name, from + 1, close === -1 ? lineEnd : from + close);
    const quote = /^\[\s*(\\{0,8}["'])/.exec(rest)?.[1] ?? "";
    return list && { ...list, instead: quote + REMOVED + quote };
  }
  const [opening, closing] = /["'`\\]/.test(rest[0] ?? "") ? quoteAt(text, from) : ["", ""];
  if (opening !== "") {
    const begin = from + opening.length;
    const close = closingAt(text, closing, begin, lineEnd);
    if (close === -1) return cut(text, name, begin, lineEnd);
    const inner = cut(text, name, begin, close);
    const after = close + closing.length;
    const glued = gluedEnd(text, after, lineEnd);
    return inner && glued > after ? { ...inner, to: glued, instead: REMOVED + closing } : inner;
  }
  if (isFirst && (by === "colon" || by === "equals")) return cut(text, name, from, trimmedEnd(text, from, lineEnd));
  const firstWord = /^[^\s"'`,;]*/.exec(rest)?.[0] ?? "";
  if (firstWord !== "" && isPlainValue(firstWord, true)) return undefined;
  if (by === "colon" && isPasswordName(name)) return cut(text, name, from, trimmedEnd(text, from, lineEnd));
  const inUrl = /[?&]$/.test(before) || text[start - 1] === ";";
  const to = wordEnd(text, from, lineEnd, inUrl);
  if (by === "colon" && isProse(text.slice(from, to), text.slice(to, to + 2), name)) return undefined;
  return cut(text, name, from, to);
}

const LONGEST_LIST = 4096;
/** Text that may come before the first name of a line of YAML, an environment file, a unit or a script. */
const LINE_BEGIN =
  /^[ \t]*(?:- +|\? +|export +|set +|ENV +|ARG +|env\.|#+ *|\/\/ *|--? ?|Environment=|"|'|;|\$env:|\d{1,6}:)*["']?$/;

/** `invalid token: expired at`: a sentence goes on. Nobody is given a short word of small letters as a token. */
function isProse(value: string, next: string, name: string): boolean {
  return !isPasswordName(name) && /^[a-z]{1,12}[,:]?$/.test(value) && /^[ :]/.test(next);
}

function cut(text: string, name: string, from: number, to: number): Cut | undefined {
  if (to <= from || isPlainValue(text.slice(from, Math.min(to, from + 400)), isPasswordName(name))) return undefined;
  return { from, to, instead: REMOVED };
}

/** The lines below that are indented further. */
function blockValue({ text, name, from, lineStart, lineEnd }: Place): Cut | undefined {
  const indent = indentOf(text, lineStart);
  const header = text.slice(from, lineEnd).trim();
  let to = lineEnd;
  while (to < text.length) {
    const next = endOfLine(text, to + 1);
    const line = text.slice(to + 1, Math.min(next, to + 400));
    const isBlank = line.trim() === "";
    const depth = indentOf(text, to + 1);
    // A list may stand as far to the left as its name.
    if (!isBlank && depth <= indent && !(header === "" && depth === indent && line.trimStart().startsWith("- "))) break;
    // Without a mark of a block, names below are members of their own.
    if (header === "" && !isBlank && isMember(line)) break;
    to = next;
  }
  while (to > lineEnd && /\s/.test(text[to - 1] ?? "")) to--;
  if (to <= lineEnd || isPlainValue(text.slice(lineEnd, to).trim(), isPasswordName(name))) return undefined;
  const space = /\s$/.test(text.slice(from - 1, from)) ? "" : " ";
  return { from, to, instead: `${space}${REMOVED}` };
}

/** `name: text`; what is called `value` or the like is what the name above it means. */
function isMember(line: string): boolean {
  const [, name] = /^\s*(?:- )?["']?([\w./-]+)["']?:(?:\s|$)/.exec(line) ?? [];
  return name === undefined ? /^\s*- *$/.test(line) : !/^(?:values?|data|contents?|text|plain(?:text)?)$/i.test(name);
}

const indentOf = (text: string, lineStart: number): number => skip(text, SPACES, lineStart) - lineStart;

function trimmedEnd(text: string, from: number, end: number): number {
  let to = end;
  while (to > from && /[\s"',;}\])]/.test(text[to - 1] ?? "")) to--;
  return to;
}

/** A shell puts 'a'"b" together. */
function gluedEnd(text: string, from: number, lineEnd: number): number {
  let at = from;
  while (at < lineEnd) {
    const isQuoted = /^["'`][\w$]/.test(text.slice(at, at + 2));
    if (!isQuoted && !/[\w$]/.test(text[at] ?? "")) break;
    const close = isQuoted ? text.slice(at + 1, lineEnd).indexOf(text[at] as string) : -1;
    const end = !isQuoted ? wordEnd(text, at, lineEnd, false) : close === -1 ? lineEnd : at + close + 2;
    if (end <= at) break;
    at = end;
  }
  return at;
}

/** Where a word ends that is not quoted. */
function wordEnd(text: string, from: number, lineEnd: number, inUrl: boolean): number {
  let to = from;
  for (; to < lineEnd; to++) {
    const sign = text[to] as string;
    if (" \t\r\"'`".includes(sign) || (inUrl && "&#;".includes(sign))) break;
    if (sign === "\\" && /["'ntr]/.test(text[to + 1] ?? "")) break;
    if (sign === "<" && text[to + 1] === "/") break;
    if (",;&".includes(sign) && /^(?:\s|["'\\{[]|$|[\w.-]{1,64}[=:])/.test(text.slice(to + 1, to + 70))) break;
  }
  while (to > from && /[)\]},;]/.test(text[to - 1] ?? "")) to--;
  return to;
}

/** Private keys in armour: PEM, OpenSSH, PGP and PuTTY, whole or cut off, in logs with prefixes, in one line of JSON. */

const KEY_REMOVED = "[private key removed]";
const ARMOUR = /-----(BEGIN|END) ([A-Z0-9 ]{0,60})-----|---- (BEGIN|END) ([A-Z0-9 ]{0,60}) ----/g;
const PUTTY = /PuTTY-User-Key-File-\d{1,2}:/g;

/** A key that is not closed within this many characters was cut off. */
const LONGEST_KEY = 64 * 1024;
/** Characters of a line that are looked at. */
const LONGEST_LINE = 4096;

export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Mark extends Span {
  readonly begins: boolean;
  readonly label: string;
}

export function withoutKeys(text: string): string {
  if (!text.includes("----") && !text.includes("PuTTY")) return text;
  const spans = [...keySpans(text), ...puttySpans(text)].sort((a, b) => a.from - b.from);
  let out = "";
  let kept = 0;
  for (const { from, to } of spans) {
    if (from < kept) {
      kept = Math.max(kept, to);
      continue;
    }
    out += text.slice(kept, from) + KEY_REMOVED;
    kept = to;
  }
  return out + text.slice(kept);
}

/** Where certificates, requests and public keys stand: random to look at, and meant for everybody. */
export function publicSpans(text: string): Span[] {
  if (!text.includes("-----BEGIN ")) return [];
  const marks = marksIn(text);
  return marks.flatMap((mark, index) => {
    if (!mark.begins || isPrivate(mark.label)) return [];
    const close = marks[index + 1];
    const isClosed = close !== undefined && !close.begins && close.label === mark.label;
    return [{ from: mark.from, to: isClosed ? close.to : bodyEnd(text, mark.to, close?.from ?? text.length) }];
  });
}

function marksIn(text: string): Mark[] {
  return [...text.matchAll(ARMOUR)].map((found) => ({
    begins: (found[1] ?? found[3]) === "BEGIN",
    label: found[2] ?? found[4] ?? "",
    from: found.index,
    to: found.index + found[0].length,
  }));
}

function isPrivate(label: string): boolean {
  return /PRIVATE KEY|^(?:PGP MESSAGE|OPENVPN STATIC KEY.*|AGE ENCRYPTED FILE)$/.test(label);
}

function* keySpans(text: string): Generator<Span> {
  const marks = marksIn(text);
  for (let index = 0; index < marks.length; index++) {
    const mark = marks[index] as Mark;
    if (!isPrivate(mark.label)) continue;
    if (!mark.begins) {
      yield { from: bodyStart(text, mark.from, marks[index - 1]?.to ?? 0), to: mark.to };
      continue;
    }
    const close = marks[index + 1];
    const isClosed = close !== undefined && !close.begins && close.to - mark.from <= LONGEST_KEY;
    if (isClosed) index++;
    yield { from: mark.from, to: isClosed ? close.to : bodyEnd(text, mark.to, close?.from ?? text.length) };
  }
}

/** What a line of a body ends with, whatever a log has put before it; line breaks may be written as `\n`. */
const BODY_END = /(?:^|[^A-Za-z0-9+/])[A-Za-z0-9+/]{16,}={0,3}["'\\,]{0,4}\s*$/;
const BODY_PART = /(?:^|[^A-Za-z0-9+/])[A-Za-z0-9+/]{16,}(?:[^A-Za-z0-9+/]|$)/;
const HEADER = /(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset): /;
const FIRST_PART = /^(?:\\{1,8}[nr]|[\s"']){0,20}(?=[a-z+/]{0,64}[A-Z0-9])[A-Za-z0-9+/]{4,}/;
const ONLY_PART = /^[A-Za-z0-9+/]{1,64}={0,2}$/;
const LAST_PART = /[A-Za-z0-9+/]={0,2}\s*$/;

/** Of a key without an end: as far as lines look like one, and not into the next one. */
function bodyEnd(text: string, from: number, limit: number): number {
  const lineEnd = endOfLine(text, from, limit);
  if (lineEnd - from > 1) {
    const rest = text.slice(from, lineEnd);
    return BODY_PART.test(rest) || FIRST_PART.test(rest) ? lineEnd : from;
  }
  let to = lineEnd;
  let hasBody = false;
  while (to < limit) {
    const next = endOfLine(text, to + 1, limit);
    const line = text.slice(to + 1, Math.min(next, to + LONGEST_LINE)).trim();
    const isBody: boolean = BODY_END.test(line) || (!hasBody && ONLY_PART.test(line));
    if (!isBody && !HEADER.test(line) && (line !== "" || hasBody)) {
      // The last line of a key is short; so is the one that the cut went through.
      return hasBody && LAST_PART.test(line) && line.length < 120 ? next : to;
    }
    hasBody ||= isBody;
    to = next;
  }
  return to;
}

/** Of a key without a beginning. */
function bodyStart(text: string, end: number, limit: number): number {
  const before = text.slice(limit, end);
  let from = limit + before.lastIndexOf("\n") + 1;
  if (BODY_PART.test(text.slice(from, end))) return from;
  let isLast = true;
  while (from > limit) {
    const start = limit + (from - limit < 2 ? 0 : before.lastIndexOf("\n", from - limit - 2) + 1);
    const line = text.slice(Math.max(start, from - LONGEST_LINE), from - 1);
    if (!BODY_END.test(line) && !HEADER.test(line) && !(isLast && LAST_PART.test(line))) break;
    isLast = false;
    from = start;
  }
  return from;
}

function* puttySpans(text: string): Generator<Span> {
  let last = 0;
  for (const { index } of text.matchAll(PUTTY)) {
    if (index < last) continue;
    const mac = text.slice(index, index + LONGEST_KEY).indexOf("Private-MAC");
    last = endOfLine(text, mac === -1 ? Math.min(text.length, index + LONGEST_KEY) : index + mac);
    yield { from: index, to: last };
  }
}

function endOfLine(text: string, from: number, limit = text.length): number {
  const at = text.slice(from, limit).indexOf("\n");
  return at === -1 ? limit : from + at;
}

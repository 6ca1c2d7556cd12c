/**
 * JSON with the offset of every value in its text: messages can name a line and a column, edits leave the rest of the
 * text alone, and numbers keep their spelling.
 */
import { messageOf } from "./errors/error.js";

interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

export interface JsonMember {
  readonly name: string;
  readonly value: JsonNode;
}

export interface JsonObject extends Span {
  readonly kind: "object";
  /** Members in the order of the text; a name may occur more than once. */
  readonly members: readonly JsonMember[];
}

export interface JsonArray extends Span {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

export interface JsonString extends Span {
  readonly kind: "string";
  readonly value: string;
}

/** Numbers, true, false and null. */
export interface JsonWord extends Span {
  readonly kind: "word";
  readonly spelling: string;
}

export type JsonNode = JsonObject | JsonArray | JsonString | JsonWord;

/** The last of that name, as JSON.parse has it; undefined also when the node is no object. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === "object" ? node.members.findLast((member) => member.name === name)?.value : undefined;
}

export interface Position {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** For offsets that only grow: the text is gone through once, however many are asked for. */
export function positionReader(text: string): (offset: number) => Position {
  let line = 1;
  let lineStart = 0;
  const endOfLine = () => {
    const at = text.indexOf("\n", lineStart);
    return at === -1 ? text.length : at;
  };
  let lineEnd = endOfLine();
  return (offset) => {
    while (lineEnd < offset) {
      line += 1;
      lineStart = lineEnd + 1;
      lineEnd = endOfLine();
    }
    return { line, column: offset - lineStart + 1 };
  };
}

/** The first member whose name occurs twice in its object. Names that differ only in case are the same to Go's decoder. */
export function repeatedMember(node: JsonNode): JsonMember | undefined {
  if (node.kind === "array") return firstOf(node.items, repeatedMember);
  if (node.kind !== "object") return undefined;
  const seen = new Set<string>();
  return firstOf(node.members, (member) => {
    const name = member.name.toLowerCase();
    if (seen.has(name)) return member;
    seen.add(name);
    return repeatedMember(member.value);
  });
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** One replacement of a range of the text; an empty range inserts. */
export interface TextEdit {
  readonly start: number;
  /** Offset behind the last character. */
  readonly end: number;
  readonly text: string;
}

/** Applies edits that do not overlap, in any order. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const pieces: string[] = [];
  let done = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < done) throw new Error("edits overlap");
    pieces.push(text.slice(done, edit.start), edit.text);
    done = edit.end;
  }
  return [...pieces, text.slice(done)].join("");
}

/** Real configs nest about ten levels deep. */
const DEEPEST = 200;

/** Why a text cannot be read, in a sentence that quotes nothing of it. */
export class JsonError extends Error {
  readonly kind: "grammar" | "depth";

  constructor(kind: JsonError["kind"], sentence: string) {
    super(sentence);
    this.kind = kind;
  }
}

/** Throws a JsonError. */
export function readJson(text: string): JsonNode {
  // JSON.parse checks the grammar; the scanner below trusts its input.
  const mistake = mistakeIn(text);
  if (mistake !== undefined) throw new JsonError("grammar", `it is not JSON: ${explained(mistake, text)}`);
  return new Scanner(text).value(0);
}

/** Written here because the engine's own message quotes the text around the mistake, which can be key material. */
function explained(mistake: Mistake, text: string): string {
  const start = text.trimStart()[0];
  if (start !== undefined && start !== "{") return "it does not begin with a brace, as a config does";
  if (mistake === "cut off") return "it ends in the middle, as a cut-off copy does";
  if (text.length > LONGEST_SEARCH) return "something in it is not written as JSON";
  const { line, column } = positionReader(text)(placeOfMistake(text));
  return `something unexpected stands in line ${line}, column ${column}`;
}

type Mistake = "cut off" | "wrong";

function mistakeIn(text: string): Mistake | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = messageOf(error);
    const offset = /at position (\d+)/.exec(message)?.[1];
    const isAtEnd = /end of JSON input|Unterminated/.test(message) || Number(offset) >= text.length;
    return isAtEnd ? "cut off" : "wrong";
  }
}

/** The search reads the text some twenty times. */
const LONGEST_SEARCH = 4 * 1024 * 1024;

/** Not every engine reports the offset: the shortest prefix that is more than cut off ends with the mistake. */
function placeOfMistake(text: string): number {
  let [good, bad] = [0, text.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (mistakeIn(text.slice(0, middle)) === "wrong") bad = middle;
    else good = middle;
  }
  return good;
}

const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** Space, tab, line feed and carriage return; nothing else below "!" survives the check of the grammar. */
const isSpace = (code: number): boolean => code <= 0x20;
const endsWord = (code: number): boolean => isSpace(code) || code === COMMA || code === 0x5d || code === 0x7d;

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonNode {
    if (depth > DEEPEST) throw new JsonError("depth", `it nests deeper than ${DEEPEST} levels, as no config does`);
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return this.#string();
    return this.#word();
  }

  #object(depth: number): JsonObject {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#list("}", () => {
      this.#skipSpace();
      const name = this.#string().value;
      this.#skipSpace();
      this.#at += 1; // the colon
      members.push({ name, value: this.value(depth + 1) });
    });
    return { kind: "object", start, end: this.#at, members };
  }

  #array(depth: number): JsonArray {
    const start = this.#at;
    const items: JsonNode[] = [];
    this.#list("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", start, end: this.#at, items };
  }

  /** Reads elements up to and including the closing bracket. */
  #list(closing: string, element: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    while (this.#text[this.#at] !== closing) {
      element();
      this.#skipSpace();
      if (this.#text.charCodeAt(this.#at) === COMMA) this.#at += 1;
    }
    this.#at += 1;
  }

  #string(): JsonString {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    const raw = this.#text.slice(start + 1, end);
    return { kind: "string", start, end: this.#at, value: raw.includes("\\") ? unescaped(raw) : raw };
  }

  #isEscaped(at: number): boolean {
    let before = at - 1;
    while (this.#text.charCodeAt(before) === BACKSLASH) before -= 1;
    return (at - 1 - before) % 2 === 1;
  }

  #word(): JsonWord {
    const start = this.#at;
    while (this.#at < this.#text.length && !endsWord(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return { kind: "word", start, end: this.#at, spelling: this.#text.slice(start, this.#at) };
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }
}

/** Halves of a surrogate pair become replacement characters, as every UTF-8 writer would make of them. */
function unescaped(raw: string): string {
  const value = JSON.parse(`"${raw}"`) as string;
  return value.replace(/\p{Surrogate}/gu, "\ufffd");
}

/**
 * JSON as text with positions. An Ignition config is never written out anew: what is not touched keeps its bytes, its
 * order, its number spellings and the members nobody here knows.
 */
import { DrawbridgeError, messageOf } from "../../errors/error.js";

interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

export interface JsonObject extends Span {
  readonly kind: "object";
  readonly members: ReadonlyMap<string, JsonNode>;
}

export interface JsonArray extends Span {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

export interface JsonString extends Span {
  readonly kind: "string";
  readonly value: string;
}

/** Numbers, true, false and null, as they are spelt. */
interface JsonWord extends Span {
  readonly kind: "word";
  readonly spelling: string;
}

export type JsonNode = JsonObject | JsonArray | JsonString | JsonWord;

/** Real configs nest about ten deep. */
const DEEPEST = 200;

/** Throws DB_IGNITION_FILE for what is no JSON, DB_IGNITION_CONTENT for members that stand twice. */
export function parseJsonText(text: string): JsonNode {
  try {
    // The scanner below trusts its input: the grammar is the platform's to check.
    JSON.parse(text);
  } catch (error) {
    throw new DrawbridgeError("DB_IGNITION_FILE", `the file is not JSON: ${shortened(messageOf(error))}`);
  }
  return new Scanner(text).value(0);
}

/** Node quotes the text around the mistake, which can be key material. */
function shortened(message: string): string {
  const place = /at position \d+/.exec(message)?.[0];
  if (/end of JSON input|Unterminated/.test(message)) return "it ends in the middle, as a cut-off copy does";
  return place === undefined ? "it does not begin like an Ignition config" : `something unexpected stands ${place}`;
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonNode {
    if (depth > DEEPEST) throw contradiction(`the config nests deeper than ${DEEPEST} levels`);
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return this.#string();
    return this.#word();
  }

  #object(depth: number): JsonObject {
    const start = this.#at;
    const members = new Map<string, JsonNode>();
    this.#list("}", () => {
      this.#skipSpace();
      const key = this.#string().value;
      if (members.has(key)) throw contradiction(`the member ${JSON.stringify(key)} stands twice in one object`);
      this.#skipSpace();
      this.#at += 1; // the colon
      members.set(key, this.value(depth + 1));
    });
    return { kind: "object", start, end: this.#at, members };
  }

  #array(depth: number): JsonArray {
    const start = this.#at;
    const items: JsonNode[] = [];
    this.#list("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", start, end: this.#at, items };
  }

  /** What stands between brackets, up to and with the closing one. */
  #list(closing: string, element: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    while (this.#text[this.#at] !== closing) {
      element();
      this.#skipSpace();
      if (this.#text[this.#at] === ",") this.#at += 1;
    }
    this.#at += 1;
  }

  #string(): JsonString {
    const start = this.#at;
    let end = start;
    do end = this.#text.indexOf('"', end + 1);
    while (this.#isEscaped(end));
    this.#at = end + 1;
    const raw = this.#text.slice(start + 1, end);
    const value = raw.includes("\\") ? (JSON.parse(this.#text.slice(start, end + 1)) as string) : raw;
    return { kind: "string", start, end: this.#at, value };
  }

  #isEscaped(at: number): boolean {
    let backslashes = 0;
    while (this.#text[at - 1 - backslashes] === "\\") backslashes += 1;
    return backslashes % 2 === 1;
  }

  #word(): JsonWord {
    const start = this.#at;
    while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at]!)) this.#at += 1;
    return { kind: "word", start, end: this.#at, spelling: this.#text.slice(start, this.#at) };
  }

  #skipSpace(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at += 1;
  }
}

const contradiction = (message: string) => new DrawbridgeError("DB_IGNITION_CONTENT", message);

/** One replacement of a stretch of the text; an empty stretch inserts. */
export interface Edit extends Span {
  readonly text: string;
}

/** Applies edits that do not overlap, in whatever order they come. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let done = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (edit.start < done) throw new Error("edits overlap");
    pieces.push(text.slice(done, edit.start), edit.text);
    done = edit.end;
  }
  return [...pieces, text.slice(done)].join("");
}

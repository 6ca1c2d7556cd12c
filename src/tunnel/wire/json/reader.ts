import { messageOf } from "../../../base/errors/error.js";
import type { JsonArray, JsonMember, JsonNode, JsonObject, JsonString, JsonWord } from "./node.js";
import { positionReader } from "./node.js";

/** Real configs nest about ten deep. */
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
  // The scanner below trusts its input: the grammar is the platform's to check.
  const mistake = mistakeIn(text);
  if (mistake !== undefined) throw new JsonError("grammar", `it is not JSON: ${told(mistake, text)}`);
  return new Scanner(text).value(0);
}

/** In words of our own: the engine quotes what stands around the mistake, which can be key material. */
function told(mistake: Mistake, text: string): string {
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

/** Engines do not always say where: the shortest beginning that is more than cut off ends with the mistake. */
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

  /** What stands between brackets, up to and with the closing one. */
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

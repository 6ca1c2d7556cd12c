/** JSON with the places where things stand: messages can point at them, edits leave the rest alone, and numbers keep their spelling. */
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
  /** As they stand, a name that stands twice included. */
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

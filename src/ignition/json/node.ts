/** JSON with the places where things stand: messages can point at them, and numbers keep their spelling. */
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

/** How to get to a value from the top: member names and list positions. */
export type JsonPath = readonly (string | number)[];

/** `storage.files.0.path`, as Ignition's own tools write it, or `the top`. */
export function pathText(path: JsonPath): string {
  return path.length === 0 ? "the top" : path.join(".");
}

/**
 * Finds the value at the end of a path or the last one on the way that is really there. Keeps what it learns of each
 * object, so that many questions about a long one cost no more than its length.
 */
export function finder(root: JsonNode): (path: JsonPath) => JsonNode {
  const known = new Map<JsonObject, Map<string, JsonNode>>();
  const membersOf = (object: JsonObject): Map<string, JsonNode> => {
    const found = known.get(object) ?? new Map(object.members.map(({ name, value }) => [name.toLowerCase(), value]));
    known.set(object, found);
    return found;
  };
  return (path) => {
    let node = root;
    for (const step of path) {
      let next: JsonNode | undefined;
      if (node.kind === "object") next = membersOf(node).get(String(step).toLowerCase());
      else if (node.kind === "array") next = node.items[Number(step)];
      if (next === undefined) break;
      node = next;
    }
    return node;
  };
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

/**
 * An Ignition config is never written out anew: what is not touched keeps its bytes, its order, its number spellings and the
 * members nobody here knows.
 */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { JsonNode } from "../../../tunnel/wire/json/node.js";
import { JsonError, readJson } from "../../../tunnel/wire/json/reader.js";

/** Throws DB_IGNITION_FILE for what is no JSON, DB_IGNITION_CONTENT for what nests without end or has members twice. */
export function parseJsonText(text: string): JsonNode {
  const root = read(text);
  requireOnce(root);
  return root;
}

function read(text: string): JsonNode {
  try {
    return readJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new DrawbridgeError(
      error.kind === "grammar" ? "DB_IGNITION_FILE" : "DB_IGNITION_CONTENT",
      `the file cannot be used: ${error.message}`,
    );
  }
}

/** Which of the two a reader takes is its own business; an edit of the other would be lost. */
function requireOnce(node: JsonNode): void {
  if (node.kind === "array") node.items.forEach(requireOnce);
  if (node.kind !== "object") return;
  const seen = new Set<string>();
  for (const { name, value } of node.members) {
    if (seen.has(name)) {
      const twice = `the member ${JSON.stringify(name)} stands twice in one object`;
      throw new DrawbridgeError("DB_IGNITION_CONTENT", twice);
    }
    seen.add(name);
    requireOnce(value);
  }
}

/** One replacement of a stretch of the text; an empty stretch inserts. */
export interface Edit {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
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

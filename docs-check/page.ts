/** A Markdown page as the check sees it: fenced blocks with the markers before them, in order. */
import { type Marker, parseMarker } from "./marker.js";

export interface Block {
  /** Of the fence, or of the marker where no block follows. */
  readonly line: number;
  /** What stands behind the opening fence; undefined where there is only a marker. */
  readonly language: string | undefined;
  readonly text: string;
  readonly marker: Marker | undefined;
}

const COMMENT = /^<!--(.*)-->$/;
const FENCE = /^```(\w*)/;

/** Throws with the line of a marker that cannot be read, or that has no block. */
export function readPage(markdown: string): Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  let waiting: { readonly line: number; readonly marker: Marker } | undefined;
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at] ?? "";
    const line = at + 1;
    const fence = FENCE.exec(text);
    if (fence !== null) {
      const end = lines.indexOf("```", at + 1);
      if (end === -1) throw new Error(`line ${line}: the block has no end`);
      const body = lines.slice(at + 1, end).join("\n");
      blocks.push({ line, language: fence[1] ?? "", text: body, marker: waiting?.marker });
      waiting = undefined;
      at = end;
      continue;
    }
    const marker = markerOf(text, line);
    if (waiting !== undefined && text !== "") throw new Error(`line ${waiting.line}: no block follows this marker`);
    if (marker?.kind === "lab") blocks.push({ line, language: undefined, text: "", marker });
    else if (marker !== undefined) waiting = { line, marker };
  }
  if (waiting !== undefined) throw new Error(`line ${waiting.line}: no block follows this marker`);
  return blocks;
}

function markerOf(text: string, line: number): Marker | undefined {
  const comment = COMMENT.exec(text)?.[1];
  if (comment === undefined) return undefined;
  try {
    return parseMarker(comment);
  } catch (reason) {
    throw new Error(`line ${line}: ${(reason as Error).message}`);
  }
}

/** Blocks of commands of which nobody said whether they are run. */
export const unmarked = (blocks: readonly Block[]): Block[] =>
  blocks.filter(
    ({ language, marker }) => language === "sh" && marker?.kind !== "check" && marker?.kind !== "not checked",
  );

/** The fixtures that a page needs, in order. */
export function fixturesOf(blocks: readonly Block[]): string[] {
  return [...new Set(blocks.flatMap(({ marker }) => (marker?.kind === "check" ? [marker.fixture] : [])))];
}

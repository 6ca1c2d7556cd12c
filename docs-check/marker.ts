/**
 * What stands in an HTML comment right before a fenced block, and decides what becomes of the block:
 *
 *   check: STAGE[, at PLACE][, stays as NAME][, within 20s][, ends with 1]
 *   not checked: REASON
 *   prints           (a text block: what the block before it must have printed)
 *   file: NAME       (any block: a file of that name in the fixture's folder)
 *   lab: STAGE, STEP (no block follows: what the reader's surroundings do at this point)
 */
export interface Check {
  readonly kind: "check";
  readonly fixture: string;
  /** The host of the fixture on which it runs; the fixture's first one unless said. */
  readonly at: string | undefined;
  /** A program that runs on, under a name; another one of that name takes its place. */
  readonly staysAs: string | undefined;
  /** Repeated until it does what it should: things need a moment. */
  readonly withinMs: number;
  readonly endsWith: number;
}

export type Marker =
  | Check
  | { readonly kind: "not checked"; readonly reason: string }
  | { readonly kind: "prints" }
  | { readonly kind: "file"; readonly fixture: string; readonly name: string }
  | { readonly kind: "lab"; readonly fixture: string; readonly step: string };

/** Undefined for a comment that is none of ours; throws for one that only looks like it. */
export function parseMarker(comment: string): Marker | undefined {
  const text = comment.trim();
  if (text === "prints") return { kind: "prints" };
  const [, word = "", rest = ""] = /^(check|not checked|file|lab):\s*(.*)$/s.exec(text) ?? [];
  const parts = rest.split(",").map((part) => part.trim());
  const [fixture = "", ...more] = parts;
  if (word !== "" && rest === "") throw new Error(`"${text}" says too little`);
  switch (word) {
    case "check":
      return checkOf(fixture, more);
    case "not checked":
      return { kind: "not checked", reason: rest };
    case "file":
      return { kind: "file", fixture, name: only(text, more) };
    case "lab":
      return { kind: "lab", fixture, step: only(text, more) };
    default:
      return undefined;
  }
}

function only(text: string, [word, ...others]: readonly string[]): string {
  if (word === undefined || others.length > 0) throw new Error(`"${text}" should be a fixture and one thing more`);
  return word;
}

function checkOf(fixture: string, more: readonly string[]): Check {
  let check: Check = { kind: "check", fixture, at: undefined, staysAs: undefined, withinMs: 0, endsWith: 0 };
  for (const part of more) {
    const [, words = "", value = ""] = /^(at|stays as|within|ends with) (\S+)$/.exec(part) ?? [];
    if (words === "at") check = { ...check, at: value };
    else if (words === "stays as") check = { ...check, staysAs: value };
    else if (words === "within" && /^\d+s$/.test(value)) check = { ...check, withinMs: parseInt(value, 10) * 1000 };
    else if (words === "ends with" && /^\d+$/.test(value)) check = { ...check, endsWith: Number(value) };
    else throw new Error(`"${part}" is nothing that a check can be told`);
  }
  return check;
}

/** A failing world in few lines: what is in it, and what happened last. */
import { isDeepStrictEqual } from "node:util";
import { DEFAULT_LIMITS } from "../../src/tunnel/connection/budget.js";
import type { Failure } from "../types.js";

const MOST_LINES = 10;
const MOST_CHARS = 240;
/** Lines for what is in the world, if it has a line for each item. */
const MOST_ITEMS = 6;

export function storyOf(scenario: object, trace: readonly string[], { property, message, atMs }: Failure): string[] {
  const lists = Object.entries(scenario).filter(([, value]) => Array.isArray(value) && value.length > 0);
  const items = lists.flatMap(([, list]) => (list as unknown[]).map(textOf));
  const joined = lists.map(([name, list]) => `${name}: ${(list as unknown[]).map(textOf).join("; ")}`);
  const world = items.length <= MOST_ITEMS ? items : joined.slice(0, MOST_ITEMS);
  const end = `${atMs.toFixed(1)} ms: ${property}: ${message.split("\n")[0]}`;
  const last = trace.slice(-(MOST_LINES - world.length - 1)).map((line) => line.trim());
  return [...world, ...last, end].map(short);
}

/** Without what is nothing, or as usual. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .filter(([, inner]) => !isNothing(inner) && !isDeepStrictEqual(inner, DEFAULT_LIMITS))
    .map(([key, inner]) => (isPlain(inner) ? `${key} ${textOf(inner)}` : `${key} (${textOf(inner)})`))
    .join(" ");
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || Array.isArray(value);

function isNothing(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isNothing);
  return value === 0 || value === false || value === "" || value === undefined || value === null;
}

const short = (line: string): string => (line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS - 3)}...`);

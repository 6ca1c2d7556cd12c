/** A failing world in few lines: what is in it, and what happened last. */
import type { Failure } from "../types.js";

const MOST_LINES = 10;
const MOST_CHARS = 200;

export function storyOf(scenario: unknown, trace: readonly string[], { property, message, atMs }: Failure): string[] {
  const end = [`${at(atMs)} ${property}: ${message.split("\n")[0]}`];
  const world = partsOf(scenario);
  const room = Math.max(0, MOST_LINES - world.length - end.length);
  return [...world.slice(0, MOST_LINES - 1), ...(room === 0 ? [] : trace.slice(-room)), ...end].map(short);
}

/** One line for each list of the scenario that has something in it, and one for all the rest. */
function partsOf(scenario: unknown): string[] {
  const entries = Object.entries(scenario as Record<string, unknown>);
  const lists = entries.filter(([, value]) => Array.isArray(value) && value.length > 0);
  const rest = entries.filter(([key, value]) => key !== "seed" && !Array.isArray(value) && !isNothing(value));
  const settings = rest.length === 0 ? [] : [`settings: ${textOf(Object.fromEntries(rest))}`];
  return [...lists.map(([key, list]) => `${key}: ${(list as unknown[]).map(textOf).join("; ")}`), ...settings];
}

const isNothing = (value: unknown): boolean =>
  value === 0 || value === false || value === "" || value === undefined || value === null;

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .filter(([, inner]) => !isNothing(inner))
    .map(([key, inner]) => (typeof inner === "object" ? `${key} {${textOf(inner)}}` : `${key} ${inner}`))
    .join(" ");
}

const at = (ms: number): string => `${ms.toFixed(1)} ms:`;

const short = (line: string): string => (line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS - 3)}...`);

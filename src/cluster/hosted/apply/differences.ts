/** What differs between two states of an object, without what the API server writes for itself. */
import { isDeepStrictEqual } from "node:util";
import { hidden } from "../render/text.js";
import type { Change } from "./outcome.js";

const bookkeeping = new Set([
  ...["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"].map(
    (name) => `metadata.${name}`,
  ),
  "status",
  "apiVersion",
  "kind",
]);

export interface DifferenceOptions {
  /** The values are secrets: show that they differ, not what they are. */
  readonly isSecret: boolean;
}

export function differences(before: unknown, after: unknown, { isSecret }: DifferenceOptions): Change[] {
  const shown = (path: string, value: unknown): unknown =>
    isSecret && path.startsWith("data.") && typeof value === "string" ? hidden(value) : value;
  return [...compare("", before, after)].map(({ path, before: was, after: is }) => ({
    path,
    before: shown(path, was),
    after: shown(path, is),
  }));
}

function* compare(path: string, before: unknown, after: unknown): Generator<Change> {
  if (bookkeeping.has(path) || isDeepStrictEqual(before, after)) return;
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      yield* compare(path === "" ? key : `${path}.${key}`, before[key], after[key]);
    }
    return;
  }
  yield { path, before, after };
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

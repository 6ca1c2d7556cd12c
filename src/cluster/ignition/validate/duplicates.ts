/** Entries of a list, or of lists that exclude each other, that have the same key. */
import type { Problems } from "../finding.js";
import type { JsonPath } from "../json-path.js";
import type { Field, Fields, Shape } from "../model/schema.js";
import type { Minor } from "../model/spec.js";

export function checkDuplicates(fields: Fields, shape: Shape, minor: Minor, path: JsonPath, problems: Problems): void {
  const rivals = new Set<string>();
  for (const field of shape.fields) {
    const value = fields[field.name];
    if (value === undefined || field.since > minor) continue;
    const place = [...path, field.name];
    const { type } = field;
    if (type.kind === "object") checkDuplicates(value as Fields, type.shape, minor, place, problems);
    if (type.kind !== "texts" && type.kind !== "objects") continue;
    if (!type.appended) {
      const seen = shape.rivals?.includes(field.name) ? rivals : new Set<string>();
      checkKeys(keysOf(field, value as readonly unknown[]), seen, place, problems);
    }
    if (type.kind !== "objects") continue;
    for (const [index, entry] of (value as readonly Fields[]).entries())
      checkDuplicates(entry, type.shape, minor, [...place, index], problems);
  }
}

function checkKeys(keys: readonly string[], seen: Set<string>, path: JsonPath, problems: Problems): void {
  for (const [index, key] of keys.entries()) {
    if (seen.has(key)) problems.error([...path, index], "an entry of the same key stands before this one");
    seen.add(key);
  }
}

/** The keys of a list's entries; only for lists. */
export function keysOf({ type }: Field, entries: readonly unknown[]): string[] {
  return entries.map((entry) => (type.kind === "objects" ? type.key(entry as Fields) : String(entry)));
}

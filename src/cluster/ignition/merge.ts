/** A child config over its parent, by the rules of Ignition. */
import type { Config } from "./model/config.js";
import { configShape, type Field, type Fields, type Shape } from "./model/schema.js";
import { keysOf } from "./validate/duplicates.js";

/** Both must be valid; the result need not be (a file below what is now a link, say). */
export function merge(parent: Config, child: Config): Config {
  return merged(parent as unknown as Fields, child as unknown as Fields, configShape) as unknown as Config;
}

function merged(parent: Fields, child: Fields, shape: Shape): Fields {
  const result: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = mergedField(parent, child, field, shape);
    if (value !== undefined) result[field.name] = value;
  }
  return result;
}

function mergedField(parent: Fields, child: Fields, field: Field, shape: Shape): unknown {
  const [above, below] = [parent[field.name], child[field.name]];
  const { type } = field;
  if (type.kind === "object") {
    if (above === undefined || below === undefined) return below ?? above;
    return merged(above as Fields, below as Fields, type.shape);
  }
  if (type.kind !== "texts" && type.kind !== "objects") return below ?? above;
  const list = type.appended
    ? [...entries(above), ...entries(below)]
    : mergedList(entries(above), entries(below), field, rivalKeys(child, field, shape));
  return list.length === 0 ? undefined : list;
}

const entries = (value: unknown): readonly unknown[] => (value as readonly unknown[] | undefined) ?? [];

/** Keys that the child has in lists which exclude this one: its entries win over the parent's here. */
function rivalKeys(child: Fields, field: Field, { fields, rivals = [] }: Shape): Set<string> {
  if (!rivals.includes(field.name)) return new Set();
  const others = fields.filter(({ name }) => rivals.includes(name) && name !== field.name);
  return new Set(others.flatMap((other) => keysOf(other, entries(child[other.name]))));
}

function mergedList(
  parents: readonly unknown[],
  children: readonly unknown[],
  field: Field,
  rivals: ReadonlySet<string>,
): unknown[] {
  const { type } = field;
  const parentKeys = keysOf(field, parents);
  const childKeys = keysOf(field, children);
  const byKey = new Map(childKeys.map((key, index) => [key, children[index]]));
  const kept = parents.flatMap((parent, index) => {
    const key = parentKeys[index]!;
    const child = byKey.get(key);
    if (child === undefined) return rivals.has(key) ? [] : [parent];
    if (type.kind !== "objects") return [child];
    if (type.deletes?.(child as Fields)) return [];
    return [merged(parent as Fields, child as Fields, type.shape)];
  });
  const known = new Set(parentKeys);
  return [...kept, ...children.filter((_, index) => !known.has(childKeys[index]!))];
}

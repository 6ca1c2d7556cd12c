/**
 * Whose fields of an object are whose, as the API server records it. A part of an object is written as for a server-side
 * apply: some of its fields, and of lists that are merged by key some items.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../base/at.js";
import type { KubeObject, ObjectMeta } from "./port.js";

/** A tree of fields: `f:name` for a field, `k:{...}` for an item of a list. */
type FieldTree = Readonly<Record<string, unknown>>;

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly fieldsV1?: FieldTree;
}

export interface ManagedObject extends KubeObject {
  readonly metadata?: ObjectMeta & { readonly managedFields?: readonly ManagedFields[] };
}

/** The fields that the manager set by server-side apply; undefined when it never did. */
export const fieldsOf = (object: ManagedObject, manager: string): FieldTree | undefined =>
  object.metadata?.managedFields?.find((entry) => isAppliedBy(entry, manager))?.fieldsV1;

export const isAppliedBy = (entry: ManagedFields, manager: string): boolean =>
  entry.manager === manager && entry.operation === "Apply";

/** Lists of pods that are merged item by item, and what tells their items apart. */
const LIST_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ["name"],
  initContainers: ["name"],
  ports: ["containerPort", "protocol"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};
/** Mappings that are replaced as a whole. */
const WHOLE = new Set(["fieldRef", "labelSelector", "podSelector", "roleRef", "secretKeyRef", "selector"]);
const isRecordedWhole = (fields: unknown): boolean => isRecord(fields) && Object.keys(fields).length === 0;
const SERVICE_PORT_KEYS = ["port", "protocol"];

/** Undefined: the list is replaced as a whole. */
function keysOf(list: unknown, name: string): readonly string[] | undefined {
  if (!Array.isArray(list)) return undefined;
  return name === "ports" && isRecord(list[0]) && "port" in list[0] ? SERVICE_PORT_KEYS : LIST_KEYS[name];
}

type Part = Readonly<Record<string, unknown>>;

/** The values that an apply of `wanted` replaces in `now`: what is there, differs, and is not in `mine`. */
export function replacedPart(wanted: Part, now: Part, mine: FieldTree | undefined): Part {
  const isReplaced: Leaf = (value, there, fields) =>
    there === undefined || fields !== undefined || isDeepStrictEqual(value, there) ? undefined : there;
  return (prune(wanted, now, mine, isReplaced) ?? {}) as Part;
}

/** What of the part is in the tree of fields. */
export function ownedPart(part: Part, fields: FieldTree | undefined): Part {
  const owned = prune(part, undefined, fields, (value, _, field) => (field === undefined ? undefined : value));
  return (owned ?? {}) as Part;
}

type Leaf = (value: unknown, there: unknown, fields: unknown) => unknown;

/** What `leaf` leaves of each value, with the keys of the items around it; undefined when nothing is left. */
function prune(part: unknown, there: unknown, fields: unknown, leaf: Leaf, name = ""): unknown {
  const keys = keysOf(part, name);
  if (keys !== undefined) {
    const items = (part as Part[]).flatMap((item) => {
      const rest = Object.fromEntries(Object.entries(item).filter(([key]) => !keys.includes(key)));
      const left = prune(rest, sameItem(there, item, keys), inside(fields, itemKey(item, keys)), leaf);
      return left === undefined ? [] : [{ ...keyOf(item, keys), ...(left as Part) }];
    });
    return items.length === 0 ? undefined : items;
  }
  if (!isRecord(part) || WHOLE.has(name) || isRecordedWhole(fields)) return leaf(part, there, fields);
  const entries = Object.entries(part).flatMap(([key, value]) => {
    const left = prune(value, inside(there, key), inside(fields, `f:${key}`), leaf, key);
    return left === undefined ? [] : [[key, left] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const inside = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);
const keyOf = (item: Part, keys: readonly string[]): Part => Object.fromEntries(keys.map((key) => [key, item[key]]));
const itemKey = (item: Part, keys: readonly string[]): string => `k:${JSON.stringify(keyOf(item, keys))}`;
const sameItem = (list: unknown, item: Part, keys: readonly string[]): Part | undefined =>
  Array.isArray(list) ? (list as Part[]).find((each) => keys.every((key) => each[key] === item[key])) : undefined;

/** Both parts in one. */
export function joinedParts(one: Part, other: Part): Part {
  const joined: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = joined[name];
    const keys = keysOf(value, name);
    if (isRecord(before) && isRecord(value)) joined[name] = joinedParts(before, value);
    else if (keys !== undefined && Array.isArray(before)) joined[name] = joinedItems(before, value as Part[], keys);
    else joined[name] = value;
  }
  return joined;
}

function joinedItems(one: readonly Part[], other: readonly Part[], keys: readonly string[]): Part[] {
  const joined = one.map((item) => joinedParts(item, sameItem(other, item, keys) ?? {}));
  return [...joined, ...other.filter((item) => sameItem(one, item, keys) === undefined)];
}

/** As in `spec.template.spec.containers[kube-apiserver].image`. */
export function partPaths(part: unknown, path = "", name = ""): string[] {
  const keys = keysOf(part, name);
  if (keys !== undefined) {
    return (part as Part[]).flatMap((item) => {
      const rest = Object.fromEntries(Object.entries(item).filter(([key]) => !keys.includes(key)));
      return partPaths(rest, `${path}[${String(item[keys[0]!])}]`);
    });
  }
  if (!isRecord(part)) return [path];
  return Object.entries(part).flatMap(([key, value]) => partPaths(value, path === "" ? key : `${path}.${key}`, key));
}

/** What a config becomes once everything it refers to is put into its place, as Ignition does before it acts. */
import { DrawbridgeError } from "../../base/errors/error.js";
import {
  type Config,
  configShape,
  type Field,
  type Fields,
  type Minor,
  type Resource,
  type Shape,
  versionOf,
} from "./config.js";
import { requireConfig } from "./parse.js";
import { type JsonPath, pathText } from "./problems.js";
import { firstError, keysOf, requireValid } from "./validate/validate.js";

/**
 * Brings a referenced config's bytes, unpacked and verified. `settings` is the config whose authorities, proxy and
 * timeouts hold for the fetch.
 */
export type FetchConfig = (resource: Resource, settings: Config, what: string) => Buffer | Promise<Buffer>;

/** Ignition itself has no bound; a config that refers to itself must end all the same. */
const MOST_REFERENCES = 100;

/**
 * `replace` before `merge`; merged depth first, in order, each over what is there. References that were followed are
 * gone from the result. Throws what fetching throws, DB_IGNITION_CONFIG and DB_IGNITION_INVALID.
 */
export async function render(config: Config, fetch: FetchConfig): Promise<Config> {
  let followed = 0;
  const referenced = async (resource: Resource, settings: Config, what: string): Promise<Config> => {
    followed += 1;
    if (followed > MOST_REFERENCES)
      throw new DrawbridgeError("DB_IGNITION_RESOURCE", `more than ${MOST_REFERENCES} configs refer to each other`);
    return requireConfig(await fetch(resource, settings, what), what);
  };
  const rendered = async (part: Config, settings: Config = part): Promise<Config> => {
    const { replace, merge: children = [] } = part.ignition.config ?? {};
    if (replace?.source !== undefined)
      return rendered(await referenced(replace, settings, "the config named in ignition.config.replace"));
    let result = part;
    let current = settings;
    for (const [index, child] of children.entries()) {
      const fetched = await referenced(child, current, `the config named in ignition.config.merge.${index}`);
      // A child's own authorities and proxy hold already when what it refers to is fetched.
      current = merge(result, fetched);
      result = merge(result, await rendered(fetched, current));
    }
    return result;
  };
  const whole = await rendered(config);
  const { config: _, ...ignition } = whole.ignition;
  const result = { ...whole, ignition };
  requireValid(result, "merging what the config refers to gives no valid config");
  return result;
}

/** Merges a child config over its parent by Ignition's rules. Both must be valid; the result need not be (a file below what is now a link, say). */
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

/** What OpenShift's machine config server and every RHCOS since 4.7 understand. */
export const USUAL_MINOR: Minor = 2;

/**
 * A config as JSON of the spec version, members in the order in which Ignition writes them. Throws DB_IGNITION_EXPRESS
 * with the place of what the version cannot express.
 */
export function emit(config: Config, minor: Minor = USUAL_MINOR): Fields {
  const versioned = { ...config, ignition: { ...config.ignition, version: versionOf(minor) } };
  const result = emitted(versioned as unknown as Fields, configShape, minor, []);
  const refusal = firstError(result as unknown as Config, minor);
  // What is valid in 3.5 and not here is a value that came later, the source of another scheme say.
  if (refusal !== undefined) throw inexpressible(refusal.path, minor, refusal.message);
  return result;
}

/** Objects that say nothing are left out. */
function emitted(fields: Fields, shape: Shape, minor: Minor, above: JsonPath): Fields {
  const result: Record<string, unknown> = {};
  for (const { name, since, type } of shape.fields) {
    const path = [...above, name];
    let value = fields[name];
    if (value === undefined) continue;
    if (type.kind === "object") value = emitted(value as Fields, type.shape, minor, path);
    if (type.kind === "object" && Object.keys(value as Fields).length === 0) continue;
    if (type.kind === "objects")
      value = (value as readonly Fields[]).map((entry, index) => emitted(entry, type.shape, minor, [...path, index]));
    if (since > minor) throw inexpressible(path, minor, `it came with spec ${versionOf(since)}`);
    result[name] = value;
  }
  return result;
}

function inexpressible(path: JsonPath, minor: Minor, why: string): DrawbridgeError {
  const sentence = `the config cannot be written as spec ${versionOf(minor)}: ${pathText(path)} prevents it (${why})`;
  return new DrawbridgeError("DB_IGNITION_EXPRESS", sentence);
}

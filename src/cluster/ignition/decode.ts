/** JSON into the members a spec version knows, by the rules Ignition's own decoder follows. */
import type { JsonNode, JsonObject } from "../../base/located-json.js";
import {
  type Clevis,
  type Config,
  type Field,
  type Fields,
  type FieldType,
  type LinkEntry,
  type Luks,
  type Minor,
  NEWEST,
  type Raid,
  type Shape,
  versionOf,
} from "./config.js";
import { type JsonPath, Problems } from "./problems.js";

type Target = Record<string, unknown>;

/** Wrong types are errors; unknown members and members that stand twice are warnings. */
export function decode(root: JsonNode, shape: Shape, minor: Minor): { fields: Fields; problems: Problems } {
  const decoder = new Decoder(minor);
  return { fields: decoder.object(root, shape, [], {}), problems: decoder.problems };
}

class Decoder {
  readonly problems = new Problems();
  readonly #minor: Minor;

  constructor(minor: Minor) {
    this.#minor = minor;
  }

  /** Into `target`, because an object that stands twice is filled twice. */
  object(node: JsonNode, shape: Shape, path: JsonPath, target: Target): Target {
    if (node.kind === "object") this.#members(node, shape, path, target);
    else if (!isNull(node)) this.#mismatch(path, "an object", node);
    for (const { name, type } of shape.fields) {
      if (type.kind === "text" && type.required) target[name] ??= "";
    }
    return target;
  }

  #members({ members }: JsonObject, shape: Shape, path: JsonPath, target: Target): void {
    const seen = new Set<string>();
    for (const { name, value } of members) {
      const place = [...path, name];
      const field = fieldNamed(shape, name, this.#minor);
      if (field?.name !== name) this.problems.warning(place, unknownMember(shape, name, field));
      if (field === undefined) continue;
      if (seen.has(field.name)) this.problems.warning(place, "the member stands twice; the later one counts");
      seen.add(field.name);
      this.#field(value, field.type, place, target, field.name);
    }
  }

  #field(node: JsonNode, type: FieldType, path: JsonPath, target: Target, name: string): void {
    if (type.kind === "object") {
      if (!isNull(node)) target[name] = this.object(node, type.shape, path, (target[name] as Target) ?? {});
      return;
    }
    if (isNull(node)) {
      // Ignition's decoder clears optional values and lists, and leaves required ones as they are.
      if (type.kind !== "text" || !type.required) delete target[name];
      return;
    }
    const value = this.#value(node, type, path);
    if (value !== undefined) target[name] = value;
    else if (type.kind === "texts" || type.kind === "objects") delete target[name];
  }

  #value(node: JsonNode, type: Exclude<FieldType, { kind: "object" }>, path: JsonPath): unknown {
    switch (type.kind) {
      case "text":
        return node.kind === "string" ? node.value : this.#mismatch(path, "a string", node);
      case "boolean":
        if (node.kind === "word" && (node.spelling === "true" || node.spelling === "false"))
          return node.spelling === "true";
        return this.#mismatch(path, "true or false", node);
      case "integer":
        return this.#integer(node, path, type.zeroIsAbsent);
      case "texts":
        return this.#list(node, path, (item, place) => (isNull(item) ? "" : this.#text(item, place)));
      case "objects":
        return this.#list(node, path, (item, place) => this.object(item, type.shape, place, {}));
    }
  }

  #text(node: JsonNode, path: JsonPath): string | undefined {
    return node.kind === "string" ? node.value : this.#mismatch(path, "a string", node);
  }

  #integer(node: JsonNode, path: JsonPath, zeroIsAbsent: boolean): number | undefined {
    if (node.kind !== "word" || !/^-?\d+$/.test(node.spelling)) return this.#mismatch(path, "a whole number", node);
    const value = Number(node.spelling);
    // Minus zero is zero.
    if (value === 0) return zeroIsAbsent ? undefined : 0;
    if (Number.isSafeInteger(value)) return value;
    this.problems.error(path, "the number is too large");
    return undefined;
  }

  #list(node: JsonNode, path: JsonPath, entry: (item: JsonNode, path: JsonPath) => unknown): unknown {
    if (node.kind !== "array") return this.#mismatch(path, "a list", node);
    const items = node.items.map((item, index) => entry(item, [...path, index]));
    return items.length === 0 ? undefined : items;
  }

  #mismatch(path: JsonPath, wanted: string, node: JsonNode): undefined {
    this.problems.error(path, `${wanted} must stand here, not ${described(node)}`);
    return undefined;
  }
}

const isNull = (node: JsonNode): boolean => node.kind === "word" && node.spelling === "null";

function described(node: JsonNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "array") return "a list";
  if (node.kind === "string") return "a string";
  return /^[tfn]/.test(node.spelling) ? node.spelling : "the number written here";
}

/** Ignition reads member names without regard to case where no name fits exactly, and warns. */
function fieldNamed(shape: Shape, name: string, minor: Minor): Field | undefined {
  const exact = shape.fields.find((field) => field.name === name);
  const field = exact ?? byFoldedName(shape).get(folded(name));
  return field !== undefined && field.since <= minor ? field : undefined;
}

const foldedNames = new WeakMap<Shape, ReadonlyMap<string, Field>>();

function byFoldedName(shape: Shape): ReadonlyMap<string, Field> {
  const names = foldedNames.get(shape) ?? new Map(shape.fields.map((field) => [folded(field.name), field]));
  foldedNames.set(shape, names);
  return names;
}

/** Two letters outside ASCII fold to ASCII ones. */
const folded = (name: string): string => name.toLowerCase().replace(/\u017f/g, "s");

function unknownMember({ fields }: Shape, name: string, field: Field | undefined): string {
  if (field !== undefined) return `the member is spelt ${field.name}`;
  const later = fields.find((candidate) => candidate.name === name);
  return later === undefined
    ? "no such member is known, it is ignored"
    : `the member is ignored: it belongs to spec 3.${later.since}.0 and later`;
}

// Older specs into 3.5: what they left to defaults is said, what they could not say stays absent.

export function upTranslated(config: Config, minor: Minor): Config {
  const ignition = { ...config.ignition, version: versionOf(NEWEST) };
  // From 3.3 on a few strings may be absent that were always there before, empty if nothing else.
  if (minor >= 3 || config.storage === undefined) return { ...config, ignition };
  const { links, luks, raid, ...storage } = config.storage;
  return {
    ...config,
    ignition,
    storage: {
      ...storage,
      ...(links && { links: links.map((link): LinkEntry => ({ ...link, target: link.target ?? "" })) }),
      ...(luks && { luks: luks.map(clevisTranslated) }),
      ...(raid && { raid: raid.map((array): Raid => ({ ...array, level: array.level ?? "" })) }),
    },
  };
}

function clevisTranslated(luks: Luks): Luks {
  const { clevis } = luks;
  if (clevis?.custom === undefined) return luks;
  const { config = "", pin = "" } = clevis.custom;
  const translated: Clevis = { ...clevis, custom: { ...clevis.custom, config, pin } };
  return { ...luks, clevis: translated };
}

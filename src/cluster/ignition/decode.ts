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
import { ConfigPlace, type ConfigProblem } from "./problems.js";

type Target = Record<string, unknown>;

/** Wrong types are errors; unknown and repeated members are warnings. */
export function decode(
  root: JsonNode,
  shape: Shape,
  minor: Minor,
): { fields: Fields; problems: readonly ConfigProblem[] } {
  const top = new ConfigPlace();
  return { fields: new Decoder(minor).object(root, shape, top, {}), problems: top.problems };
}

class Decoder {
  readonly #minor: Minor;

  constructor(minor: Minor) {
    this.#minor = minor;
  }

  /** Into `target`, because a repeated object is filled twice. */
  object(node: JsonNode, shape: Shape, place: ConfigPlace, target: Target): Target {
    if (node.kind === "object") this.#members(node, shape, place, target);
    else if (!isNull(node)) mismatch(place, "an object", node);
    for (const { name, type } of shape.fields) {
      if (type.kind === "text" && type.required) target[name] ??= "";
    }
    return target;
  }

  #members({ members }: JsonObject, shape: Shape, object: ConfigPlace, target: Target): void {
    const seen = new Set<string>();
    for (const { name, value } of members) {
      const place = object.at(name);
      const field = fieldNamed(shape, name, this.#minor);
      if (field?.name !== name) place.warning(unknownMember(shape, name, field));
      if (field === undefined) continue;
      if (seen.has(field.name)) place.warning("the member occurs twice; the later one counts");
      seen.add(field.name);
      this.#field(value, field.type, place, target, field.name);
    }
  }

  #field(node: JsonNode, type: FieldType, place: ConfigPlace, target: Target, name: string): void {
    if (type.kind === "object") {
      if (!isNull(node)) target[name] = this.object(node, type.shape, place, (target[name] as Target) ?? {});
      return;
    }
    if (isNull(node)) {
      // Ignition's decoder clears optional values and lists, and leaves required ones as they are.
      if (type.kind !== "text" || !type.required) delete target[name];
      return;
    }
    const value = this.#value(node, type, place);
    if (value !== undefined) target[name] = value;
    else if (type.kind === "texts" || type.kind === "objects") delete target[name];
  }

  #value(node: JsonNode, type: Exclude<FieldType, { kind: "object" }>, place: ConfigPlace): unknown {
    switch (type.kind) {
      case "text":
        return node.kind === "string" ? node.value : mismatch(place, "a string", node);
      case "boolean":
        if (node.kind === "word" && (node.spelling === "true" || node.spelling === "false"))
          return node.spelling === "true";
        return mismatch(place, "true or false", node);
      case "integer":
        return integerIn(node, place, type.zeroIsAbsent);
      case "texts":
        return listIn(node, place, (item, at) => (isNull(item) ? "" : this.#value(item, optionalText, at)));
      case "objects":
        return listIn(node, place, (item, at) => this.object(item, type.shape, at, {}));
    }
  }
}

const optionalText = { kind: "text", required: false } as const;

function integerIn(node: JsonNode, place: ConfigPlace, zeroIsAbsent: boolean): number | undefined {
  if (node.kind !== "word" || !/^-?\d+$/.test(node.spelling)) return mismatch(place, "a whole number", node);
  const value = Number(node.spelling);
  // Minus zero is zero.
  if (value === 0) return zeroIsAbsent ? undefined : 0;
  if (Number.isSafeInteger(value)) return value;
  place.error("the number is too large");
  return undefined;
}

function listIn(node: JsonNode, place: ConfigPlace, entry: (item: JsonNode, at: ConfigPlace) => unknown): unknown {
  if (node.kind !== "array") return mismatch(place, "a list", node);
  const items = node.items.map((item, index) => entry(item, place.at(index)));
  return items.length === 0 ? undefined : items;
}

function mismatch(place: ConfigPlace, wanted: string, node: JsonNode): undefined {
  place.error(`${wanted} is expected here, not ${described(node)}`);
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

/** Translates older specs to 3.5: their defaults are written out, and what they could not express stays absent. */
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

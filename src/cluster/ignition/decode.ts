/** JSON into the members a spec version knows, by the rules Ignition's own decoder follows. */
import type { JsonNode } from "../../base/located-json.js";
import {
  type Config,
  type Fields,
  type FieldType,
  folded,
  type Luks,
  NEWEST,
  type Shape,
  versionOf,
} from "./config.js";
import type { ConfigPlace } from "./problems.js";

type Target = Record<string, unknown>;

/** Wrong types are errors; unknown and repeated members are warnings. `target` is given when an object is repeated. */
export function decode(node: JsonNode, shape: Shape, place: ConfigPlace, target: Target = {}): Fields {
  const seen = new Set<string>();
  if (node.kind !== "object" && !isNull(node)) mismatch(place, "an object", node);
  for (const { name, value } of node.kind === "object" ? node.members : []) {
    const at = place.at(name);
    // Ignition reads member names without regard to case, and warns.
    const known = shape.byFoldedName.get(folded(name));
    if (known === undefined || known.since > place.minor) {
      const isLater = known?.name === name;
      at.warning(
        isLater
          ? `the member is ignored: it belongs to spec 3.${known.since}.0 and later`
          : "no such member is known, it is ignored",
      );
      continue;
    }
    if (known.name !== name) at.warning(`the member is spelt ${known.name}`);
    if (seen.has(known.name)) at.warning("the member occurs twice; the later one counts");
    seen.add(known.name);
    decodeField(value, known.type, at, target, known.name);
  }
  for (const { name, type } of shape.fields) {
    if (type.kind === "text" && type.required) target[name] ??= "";
  }
  return target;
}

function decodeField(node: JsonNode, type: FieldType, place: ConfigPlace, target: Target, name: string): void {
  if (type.kind === "object") {
    if (!isNull(node)) target[name] = decode(node, type.shape, place, target[name] as Target | undefined);
    return;
  }
  if (isNull(node)) {
    // Ignition's decoder clears optional values and lists, and leaves required ones as they are.
    if (type.kind !== "text" || !type.required) delete target[name];
    return;
  }
  const value = decodeValue(node, type, place);
  if (value !== undefined) target[name] = value;
  else if (type.kind === "texts" || type.kind === "objects") delete target[name];
}

function decodeValue(node: JsonNode, type: Exclude<FieldType, { kind: "object" }>, place: ConfigPlace): unknown {
  switch (type.kind) {
    case "text":
      return node.kind === "string" ? node.value : mismatch(place, "a string", node);
    case "boolean":
      if (node.kind === "word" && /^(true|false)$/.test(node.spelling)) return node.spelling === "true";
      return mismatch(place, "true or false", node);
    case "integer":
      return integerIn(node, place, type.zeroIsAbsent);
  }
  if (node.kind !== "array") return mismatch(place, "a list", node);
  const items = node.items.map((item, index) => {
    const at = place.at(index);
    if (type.kind === "objects") return decode(item, type.shape, at);
    return isNull(item) ? "" : decodeValue(item, { kind: "text", required: false }, at);
  });
  return items.length === 0 ? undefined : items;
}

function integerIn(node: JsonNode, place: ConfigPlace, zeroIsAbsent: boolean): number | undefined {
  if (node.kind !== "word" || !/^-?\d+$/.test(node.spelling)) return mismatch(place, "a whole number", node);
  const value = Number(node.spelling);
  // Minus zero is zero.
  if (value === 0) return zeroIsAbsent ? undefined : 0;
  if (Number.isSafeInteger(value)) return value;
  place.error("the number is too large");
  return undefined;
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

/** Translates older specs to 3.5: their defaults are written out, and what they could not express stays absent. */
export function upTranslated(config: Config, minor: number): Config {
  const ignition = { ...config.ignition, version: versionOf(NEWEST) };
  // From 3.3 on a few strings may be absent that were always there before, empty if nothing else.
  if (minor >= 3 || config.storage === undefined) return { ...config, ignition };
  const { links, luks, raid, ...storage } = config.storage;
  return {
    ...config,
    ignition,
    storage: {
      ...storage,
      ...(links && { links: links.map((link) => ({ ...link, target: link.target ?? "" })) }),
      ...(luks && { luks: luks.map(withWholePin) }),
      ...(raid && { raid: raid.map((array) => ({ ...array, level: array.level ?? "" })) }),
    },
  };
}

function withWholePin(luks: Luks): Luks {
  const { custom } = luks.clevis ?? {};
  return custom ? { ...luks, clevis: { ...luks.clevis, custom: { config: "", pin: "", ...custom } } } : luks;
}

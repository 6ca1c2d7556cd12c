/** Every rule of the spec that a config can break without breaking its shape. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Config, configShape, type Field, type Fields, type Minor, NEWEST, type Shape } from "../config.js";
import { ConfigPlace, type ConfigProblem, pathText } from "../problems.js";
import { deviceRules } from "./devices.js";
import { nodeRules } from "./nodes.js";
import { resourceRules } from "./resources.js";

const RULES = new Map([...resourceRules, ...nodeRules, ...deviceRules]);

/** As the spec version of the place has it; the config must hold only what that version knows. */
export function validate(config: Config, place: ConfigPlace): void {
  check(config as unknown as Fields, configShape, place);
}

export function firstError(config: Config, minor: Minor): ConfigProblem | undefined {
  const place = new ConfigPlace(minor);
  validate(config, place);
  return place.problems.find(({ severity }) => severity === "error");
}

/** Throws DB_IGNITION_INVALID, a sentence that begins with `failure`, for what is not valid in the newest spec. */
export function requireValid(config: Config, failure: string): void {
  const first = firstError(config, NEWEST);
  if (first !== undefined)
    throw new DrawbridgeError("DB_IGNITION_INVALID", `${failure}: ${pathText(first.path)}: ${first.message}`);
}

/** Checks the object's own rule, then what is in it, and that no two entries of a list have the same key. */
function check(fields: Fields, shape: Shape, place: ConfigPlace): void {
  RULES.get(shape)?.(fields, place);
  const rivals = new Set<string>();
  for (const field of shape.fields) {
    const { name, type, since } = field;
    const value = fields[name];
    if (value === undefined || since > place.minor) continue;
    if (type.kind === "object") check(value as Fields, type.shape, place.at(name));
    if (type.kind !== "texts" && type.kind !== "objects") continue;
    const seen = shape.rivals?.includes(name) ? rivals : new Set<string>();
    for (const [key, one] of place.entries(name, type.appended ? [] : keysOf(field, value as readonly unknown[]))) {
      if (seen.has(key)) one.error("an earlier entry has the same key");
      seen.add(key);
    }
    if (type.kind !== "objects") continue;
    for (const [entry, one] of place.entries(name, value as readonly Fields[])) check(entry, type.shape, one);
  }
}

/** The keys of a list's entries; only for lists. */
export function keysOf({ type }: Field, entries: readonly unknown[]): string[] {
  return entries.map((entry) => (type.kind === "objects" ? type.key(entry as Fields) : String(entry)));
}

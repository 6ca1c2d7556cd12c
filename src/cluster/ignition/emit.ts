/** A config as JSON of a chosen spec version, members in the order in which Ignition writes them. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { type JsonPath, pathText } from "./json-path.js";
import type { Config } from "./model/config.js";
import { configShape, type Field, type Fields, type Shape } from "./model/schema.js";
import { type Minor, versionOf } from "./model/spec.js";
import { validate } from "./validate/validate.js";

/** What OpenShift's machine config server and every RHCOS since 4.7 understand. */
export const USUAL_MINOR: Minor = 2;

/** Throws DB_IGNITION_EXPRESS with the place of what the version cannot say. */
export function emit(config: Config, minor: Minor = USUAL_MINOR): Fields {
  const versioned = { ...config, ignition: { ...config.ignition, version: versionOf(minor) } };
  const result = emitted(versioned as unknown as Fields, configShape, minor, []);
  const refusal = validate(result as unknown as Config, minor).find(({ severity }) => severity === "error");
  // What is valid in 3.5 and not here is a value that came later, the source of another scheme say.
  if (refusal !== undefined) throw inexpressible(refusal.path, minor, refusal.message);
  return result;
}

function emitted(fields: Fields, shape: Shape, minor: Minor, path: JsonPath): Fields {
  const result: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const value = emittedField(fields[field.name], field, minor, [...path, field.name]);
    if (value === undefined) continue;
    if (field.since > minor)
      throw inexpressible([...path, field.name], minor, `it came with spec ${versionOf(field.since)}`);
    result[field.name] = value;
  }
  return result;
}

/** Objects that say nothing are left out. */
function emittedField(value: unknown, { type }: Field, minor: Minor, path: JsonPath): unknown {
  if (value === undefined) return undefined;
  if (type.kind === "object") {
    const inner = emitted(value as Fields, type.shape, minor, path);
    return Object.keys(inner).length === 0 ? undefined : inner;
  }
  if (type.kind !== "objects") return value;
  return (value as readonly Fields[]).map((entry, index) => emitted(entry, type.shape, minor, [...path, index]));
}

function inexpressible(path: JsonPath, minor: Minor, why: string): DrawbridgeError {
  const sentence = `the config cannot be written as spec ${versionOf(minor)}: ${pathText(path)} stands in the way (${why})`;
  return new DrawbridgeError("DB_IGNITION_EXPRESS", sentence);
}

/** Every rule of the spec that a config can break without breaking its shape. */

import { type Config, configShape, type Field, type Fields, type Minor, type Resource, type Shape } from "../config.js";
import { type JsonPath, type Problem, Problems } from "../problems.js";
import { checkDisks, checkVolumes } from "./devices.js";
import { checkNodes, checkUnits } from "./nodes.js";
import { checkProxy, checkReference, checkResource } from "./resources.js";

/** As that spec version has it; the config must hold only what that version knows. */
export function validate(config: Config, minor: Minor): Problem[] {
  const problems = new Problems();
  checkIgnition(config, minor, problems);
  if (config.storage) {
    const path = ["storage"];
    checkNodes(config.storage, path, minor, problems);
    checkDisks(config.storage, path, minor, problems);
    checkVolumes(config.storage, path, minor, problems);
  }
  checkUnits(config, problems);
  checkDuplicates(config as unknown as Readonly<Record<string, unknown>>, configShape, minor, [], problems);
  return problems.list;
}

function checkIgnition({ ignition }: Config, minor: Minor, problems: Problems): void {
  const { config, proxy, security } = ignition;
  const check = minor === 0 ? checkReference : checkResource;
  if (config?.replace) check(config.replace, ["ignition", "config", "replace"], minor, problems);
  const list = (resources: readonly Resource[], path: readonly string[], isRequired: boolean) => {
    for (const [index, resource] of resources.entries()) {
      const place = [...path, index];
      check(resource, place, minor, problems);
      if (isRequired && !resource.source)
        problems.error(minor === 0 ? [...place, "source"] : place, "a source is needed");
    }
  };
  list(config?.merge ?? [], ["ignition", "config", "merge"], minor > 0);
  const authorities = security?.tls?.certificateAuthorities ?? [];
  list(authorities, ["ignition", "security", "tls", "certificateAuthorities"], true);
  if (proxy) checkProxy(proxy, ["ignition", "proxy"], problems);
}

// Entries of a list, or of lists that exclude each other, that have the same key.

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

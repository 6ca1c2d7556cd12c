/** Every rule of the spec that a config can break without breaking its shape. */

import { type Config, configShape, type Field, type Fields, type Minor, type Resource, type Shape } from "../config.js";
import { ConfigPlace, type ConfigProblem } from "../problems.js";
import { checkDisks, checkVolumes } from "./devices.js";
import { checkNodes, checkUnits } from "./nodes.js";
import { checkProxy, checkReference, checkResource } from "./resources.js";

/** As that spec version has it; the config must hold only what that version knows. */
export function validate(config: Config, minor: Minor): readonly ConfigProblem[] {
  const top = new ConfigPlace();
  checkIgnition(config, minor, top.at("ignition"));
  if (config.storage) {
    const place = top.at("storage");
    checkNodes(config.storage, place, minor);
    checkDisks(config.storage, place, minor);
    checkVolumes(config.storage, place, minor);
  }
  checkUnits(config, top);
  checkDuplicates(config as unknown as Fields, configShape, minor, top);
  return top.problems;
}

function checkIgnition({ ignition }: Config, minor: Minor, place: ConfigPlace): void {
  const { config, proxy, security } = ignition;
  const check = minor === 0 ? checkReference : checkResource;
  if (config?.replace) check(config.replace, place.at("config", "replace"), minor);
  const list = (resources: readonly Resource[] | undefined, at: ConfigPlace, name: string, isRequired: boolean) => {
    for (const [resource, one] of at.entries(name, resources)) {
      check(resource, one, minor);
      if (isRequired && !resource.source) one.error("a source is needed", ...(minor === 0 ? ["source"] : []));
    }
  };
  list(config?.merge, place.at("config"), "merge", minor > 0);
  list(security?.tls?.certificateAuthorities, place.at("security", "tls"), "certificateAuthorities", true);
  if (proxy) checkProxy(proxy, place.at("proxy"));
}

/** Entries of a list, or of lists that exclude each other, that have the same key. */
function checkDuplicates(fields: Fields, shape: Shape, minor: Minor, place: ConfigPlace): void {
  const rivals = new Set<string>();
  for (const field of shape.fields) {
    const { name, type, since } = field;
    const value = fields[name];
    if (value === undefined || since > minor) continue;
    if (type.kind === "object") checkDuplicates(value as Fields, type.shape, minor, place.at(name));
    if (type.kind !== "texts" && type.kind !== "objects") continue;
    const seen = shape.rivals?.includes(name) ? rivals : new Set<string>();
    for (const [key, one] of place.entries(name, type.appended ? [] : keysOf(field, value as readonly unknown[]))) {
      if (seen.has(key)) one.error("an earlier entry has the same key");
      seen.add(key);
    }
    if (type.kind !== "objects") continue;
    for (const [entry, one] of place.entries(name, value as readonly Fields[]))
      checkDuplicates(entry, type.shape, minor, one);
  }
}

/** The keys of a list's entries; only for lists. */
export function keysOf({ type }: Field, entries: readonly unknown[]): string[] {
  return entries.map((entry) => (type.kind === "objects" ? type.key(entry as Fields) : String(entry)));
}

/** Every rule of the spec that a config can break without breaking its shape. */
import { type Problem, Problems } from "../finding.js";
import type { Config, Resource } from "../model/config.js";
import { configShape } from "../model/schema.js";
import type { Minor } from "../model/spec.js";
import { checkDisks } from "./disks.js";
import { checkDuplicates } from "./duplicates.js";
import { checkVolumes } from "./luks.js";
import { checkNodes } from "./nodes.js";
import { checkProxy, checkReference, checkResource } from "./resources.js";
import { checkUnits } from "./units.js";

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

/** Units as Ignition leaves them: files, drop-ins, links to nowhere, and one preset file. */
import type { Unit } from "../../ignition/model/config.js";
import type { Tree } from "./tree.js";

const folder = "/etc/systemd/system";
const presetFile = "/etc/systemd/system-preset/20-ignition.preset";
const fileMode = 0o644;

export async function applyUnits(tree: Tree, units: readonly Unit[]): Promise<void> {
  for (const { contents, dropins = [], mask, name } of units) {
    for (const dropin of dropins) {
      if (dropin.contents === undefined) continue;
      await tree.write(`${folder}/${name}.d/${dropin.name}`, dropin.contents, fileMode, { over: true });
    }
    if (contents) await tree.write(`${folder}/${name}`, contents, fileMode, { over: true });
    if (mask) await tree.symlink(`${folder}/${name}`, "/dev/null", { over: true });
  }
  const presets = presetLines(units);
  if (presets.length > 0) await tree.write(presetFile, presets.map((line) => `${line}\n`).join(""), fileMode);
}

/** Disabling writes nothing: on a new root no unit is enabled that could be disabled. */
export function presetLines(units: readonly Unit[]): string[] {
  const enabled = new Map<string, string[]>();
  for (const { enabled: isEnabled, name } of units) {
    if (!isEnabled) continue;
    // echo@a.service and echo@b.service are one line: echo@.service a b
    const [, before = name, instance, suffix = ""] = /^([^@]*@)(.*)(\.[^.]*)$/.exec(name) ?? [];
    const key = before + suffix;
    enabled.set(key, [...(enabled.get(key) ?? []), ...(instance === undefined ? [] : [instance])]);
  }
  // Sorted as Ignition does, with what it appends to the names.
  const sorted = [...enabled].sort(([a], [b]) => (`${a}-enabled` < `${b}-enabled` ? -1 : 1));
  return sorted.map(([name, instances]) => ["enable", name, ...instances].join(" "));
}

/** Units as Ignition leaves them: files, drop-ins, links to nowhere, and one preset file. */
import type { Unit } from "../../ignition/model/config.js";
import type { Tree } from "./tree.js";

const FOLDER = "/etc/systemd/system";
const PRESET_FILE = "/etc/systemd/system-preset/20-ignition.preset";
const FILE_MODE = 0o644;

export async function applyUnits(tree: Tree, units: readonly Unit[]): Promise<void> {
  for (const { contents, dropins = [], mask, name } of units) {
    for (const dropin of dropins) {
      if (dropin.contents === undefined) continue;
      await tree.write(`${FOLDER}/${name}.d/${dropin.name}`, dropin.contents, FILE_MODE, { over: true });
    }
    if (contents) await tree.write(`${FOLDER}/${name}`, contents, FILE_MODE, { over: true });
    if (mask) await tree.symlink(`${FOLDER}/${name}`, "/dev/null", { over: true });
  }
  const presets = presetLines(units);
  if (presets.length > 0) await tree.write(PRESET_FILE, presets.map((line) => `${line}\n`).join(""), FILE_MODE);
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

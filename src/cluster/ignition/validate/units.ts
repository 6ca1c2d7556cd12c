/** systemd units, drop-ins, and the paths they take. */
import type { Problems } from "../finding.js";
import type { Config, Unit } from "../model/config.js";
import { ending } from "./paths.js";
import { readUnit, type UnitReading } from "./unit-file.js";

const ENDINGS = new Set(
  "service socket device mount automount swap target path timer snapshot slice scope".split(" ").map((e) => `.${e}`),
);

export function checkUnits({ systemd, storage }: Config, problems: Problems): void {
  const units = systemd?.units ?? [];
  const readings = units.map(({ contents = "" }) => readUnit(contents));
  for (const [index, unit] of units.entries()) checkUnit(unit, readings[index]!, index, problems);
  const templates = new Map(units.map(({ name, contents }, index) => [name, contents ? readings[index] : undefined]));
  for (const [index, unit] of units.entries()) checkInstance(unit, index, templates, problems);
  const taken = new Set(units.flatMap(pathsOf));
  for (const kind of ["files", "directories", "links"] as const) {
    for (const [index, { path }] of (storage?.[kind] ?? []).entries()) {
      if (taken.has(path))
        problems.error(["storage", kind, index, "path"], "a unit or drop-in of this config has the path");
    }
  }
}

function pathsOf({ name, contents, dropins = [] }: Unit): string[] {
  const file = `/etc/systemd/system/${name}`;
  const parts = dropins.filter((dropin) => dropin.contents).map((dropin) => `${file}.d/${dropin.name}`);
  return contents ? [file, ...parts] : parts;
}

function checkUnit(unit: Unit, reading: UnitReading, index: number, problems: Problems): void {
  const { name, contents, dropins = [], enabled } = unit;
  const path = ["systemd", "units", index];
  if (!ENDINGS.has(ending(name))) problems.error([...path, "name"], "a unit's name ends in its kind, such as .service");
  if (!reading.ok) problems.error([...path, "contents"], `the unit cannot be read: ${reading.why}`);
  else if (enabled === true && contents && !reading.sections.has("Install"))
    problems.warning([...path, "contents"], "the unit is enabled but has no [Install] section, so nothing starts it");
  for (const [position, dropin] of dropins.entries()) {
    const place = [...path, "dropins", position];
    const part = readUnit(dropin.contents ?? "");
    if (!part.ok) problems.error([...place, "contents"], `the drop-in cannot be read: ${part.why}`);
    if (ending(dropin.name) !== ".conf") problems.error([...place, "name"], "a drop-in's name ends in .conf");
  }
}

/** `name@instance.service` is enabled by what its template says. */
function checkInstance(
  { name, enabled }: Unit,
  index: number,
  templates: ReadonlyMap<string, UnitReading | undefined>,
  problems: Problems,
): void {
  const template = templateOf(name);
  if (enabled !== true || template === undefined) return;
  const reading = templates.get(template);
  if (reading?.ok && !reading.sections.has("Install"))
    problems.warning(
      ["systemd", "units", index, "contents"],
      `the template ${template} has no [Install] section, so nothing starts its instance`,
    );
}

/** `name@.service` for `name@instance.service`, undefined for what is no instance. */
function templateOf(name: string): string | undefined {
  const at = name.indexOf("@", 1);
  const isInstance = at !== -1 && name.endsWith(".service") && at + 1 < name.length - ".service".length;
  return isInstance && !name.includes("\n") ? `${name.slice(0, at)}@.service` : undefined;
}

/** Files, directories and links, and what they must not do to each other. */

import { posix } from "node:path";
import type { Config, FileEntry, LinkEntry, Minor, NodeEntry, Storage, Unit } from "../config.js";
import type { JsonPath, Problems } from "../problems.js";
import { checkResource } from "./resources.js";
import { readUnit, type UnitReading } from "./unit-file.js";

export function checkNodes(storage: Storage, path: JsonPath, minor: Minor, problems: Problems): void {
  const { files = [], directories = [], links = [] } = storage;
  for (const [index, file] of files.entries()) checkFile(file, [...path, "files", index], minor, problems);
  for (const [index, directory] of directories.entries()) {
    const place = [...path, "directories", index];
    checkNode(directory, place, problems);
    checkMode(directory.mode, place, problems);
  }
  for (const [index, link] of links.entries()) {
    const place = [...path, "links", index];
    checkNode(link, place, problems);
    checkLink(link, place, minor, storage, problems);
  }
  checkBelowLinks(storage, path, problems);
}

function checkNode({ path: file, user, group }: NodeEntry, path: JsonPath, problems: Problems): void {
  problems.error([...path, "path"], pathObjection(file));
  for (const [member, owner] of [["user", user] as const, ["group", group] as const]) {
    if (owner?.id !== undefined && owner.name !== undefined && owner.name !== "")
      problems.error([...path, member], "id and name exclude each other");
  }
}

function checkFile(file: FileEntry, path: JsonPath, minor: Minor, problems: Problems): void {
  checkNode(file, path, problems);
  checkMode(file.mode, path, problems);
  if (file.overwrite === true && file.contents?.source === undefined)
    problems.error([...path, "overwrite"], "a file can only be overwritten by contents with a source");
  if (file.contents) checkResource(file.contents, [...path, "contents"], minor, problems);
  for (const [index, part] of (file.append ?? []).entries())
    checkResource(part, [...path, "append", index], minor, problems);
}

function checkMode(mode: number | undefined, path: JsonPath, problems: Problems): void {
  if (mode === undefined) return;
  const place = [...path, "mode"];
  if (mode < 0 || mode > 0o7777)
    problems.error(place, "the mode is no file mode (0 to 4095 in decimal, as JSON has no octal)");
  // Ignition looks at the lower 32 bits, also of a number it has just refused.
  if ((mode & 0o7000) !== 0)
    problems.warning(place, "set-uid, set-gid and sticky bits have no effect before spec 3.6.0");
}

function checkLink(link: LinkEntry, path: JsonPath, minor: Minor, storage: Storage, problems: Problems): void {
  const { target = "" } = link;
  if (target === "" && minor >= 3) {
    problems.error([...path, "target"], "a link needs a target");
    return;
  }
  if (link.hard !== true) return;
  const pointee = target.startsWith("/") ? cleaned(target) : cleaned(`${link.path}/${target}`);
  if (storage.directories?.some((directory) => directory.path === pointee))
    problems.error(path, "a hard link cannot point to a directory");
  for (const [member, owner] of [["user", link.user] as const, ["group", link.group] as const]) {
    for (const name of ["id", "name"] as const) {
      if (owner?.[name] !== undefined)
        problems.warning([...path, member, name], "a hard link has the owner of what it points to");
    }
  }
}

/** By the lengths of the links' paths, so that long lists of deep paths cost no more than their size. */
function checkBelowLinks({ files, directories, links = [] }: Storage, path: JsonPath, problems: Problems): void {
  const linked = new Set(links.map((link) => link.path));
  const lengths = [...new Set(links.map((link) => link.path.length))].sort((a, b) => a - b);
  const isBelowLink = (file: string): boolean => {
    for (const length of lengths) {
      if (length >= file.length) return false;
      if (file[length] === "/" && linked.has(file.slice(0, length))) return true;
    }
    return false;
  };
  for (const [kind, entries] of Object.entries({ files, directories, links })) {
    for (const [index, entry] of (entries ?? []).entries()) {
      if (isBelowLink(entry.path))
        problems.error([...path, kind, index], "the path leads through a link of this config");
    }
  }
}

/** Why it is no absolute path in its shortest form. */
export function pathObjection(path: string): string | undefined {
  if (path === "") return "a path is needed";
  if (!path.startsWith("/")) return "the path is not absolute";
  return cleaned(path) === path ? undefined : "the path is not in its shortest form";
}

/** Without doubled slashes, dots and a slash at the end. */
export function cleaned(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}

/** `.service`; names such as `.conf` are all ending. */
export function ending(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  const dot = last.lastIndexOf(".");
  return dot === -1 ? "" : last.slice(dot);
}

// systemd units, drop-ins, and the paths they take.

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

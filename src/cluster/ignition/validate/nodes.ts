/** Files, directories, links and units, and what they must not do to each other. */

import { posix } from "node:path";
import {
  type Config,
  configShape,
  directory,
  type FileEntry,
  fileShape,
  type LinkEntry,
  link,
  type NodeEntry,
  type Storage,
  storage,
  type Unit,
} from "../config.js";
import type { ConfigPlace } from "../problems.js";
import { rule } from "./rule.js";
import { parseUnit } from "./unit-file.js";

const OWNERS = ["user", "group"] as const;

function checkNode(node: NodeEntry & { readonly mode?: number }, place: ConfigPlace): void {
  place.error(pathObjection(node.path), "path");
  for (const owner of OWNERS) {
    const { id, name = "" } = node[owner] ?? {};
    if (id !== undefined && name !== "") place.error("id and name exclude each other", owner);
  }
  checkMode(node.mode, place);
}

function checkFile(entry: FileEntry, place: ConfigPlace): void {
  checkNode(entry, place);
  if (entry.overwrite === true && entry.contents?.source === undefined)
    place.error("a file can only be overwritten by contents with a source", "overwrite");
}

function checkMode(mode: number | undefined, place: ConfigPlace): void {
  if (mode === undefined) return;
  if (mode < 0 || mode > 0o7777)
    place.error("the mode is no file mode (0 to 4095 in decimal, as JSON has no octal)", "mode");
  // Ignition looks at the lower 32 bits, also of a number it has just refused.
  if ((mode & 0o7000) !== 0) place.warning("set-uid, set-gid and sticky bits have no effect before spec 3.6.0", "mode");
}

function checkLink(entry: LinkEntry, place: ConfigPlace): void {
  checkNode(entry, place);
  const { target = "", hard } = entry;
  const lacksTarget = target === "" && place.minor >= 3;
  if (lacksTarget) place.error("a link needs a target", "target");
  if (lacksTarget || hard !== true) return;
  for (const owner of OWNERS) {
    for (const name of ["id", "name"] as const) {
      if (entry[owner]?.[name] !== undefined)
        place.warning("a hard link has the owner of what it points to", owner, name);
    }
  }
}

function checkStorage(entry: Storage, place: ConfigPlace): void {
  checkBelowLinks(entry, place);
  const directories = new Set(entry.directories?.map(({ path }) => path));
  for (const [{ path, target = "", hard }, one] of place.entries("links", entry.links)) {
    const pointee = target.startsWith("/") ? cleaned(target) : cleaned(`${path}/${target}`);
    const lacksTarget = target === "" && place.minor >= 3;
    if (hard === true && !lacksTarget && directories.has(pointee)) one.error("a hard link cannot point to a directory");
  }
  const disks = new Map(entry.disks?.map((disk) => [disk.device, disk]));
  for (const [{ device, wipeFilesystem }, one] of place.entries("filesystems", entry.filesystems)) {
    const disk = disks.get(device);
    if (disk?.partitions !== undefined) one.warning("the file system overwrites a disk with partitions", "device");
    else if (disk?.wipeTable === true && wipeFilesystem !== true)
      one.warning("the disk's table is wiped, and the file system with it", "device");
  }
}

/** By the lengths of the links' paths, so that long lists of deep paths cost no more than their size. */
function checkBelowLinks({ files, directories, links = [] }: Storage, place: ConfigPlace): void {
  const linked = new Set(links.map((link) => link.path));
  const lengths = [...new Set(links.map((link) => link.path.length))].sort((a, b) => a - b);
  const isBelowLink = (file: string): boolean => {
    for (const length of lengths) {
      if (length >= file.length) return false;
      if (file[length] === "/" && linked.has(file.slice(0, length))) return true;
    }
    return false;
  };
  for (const [kind, list] of Object.entries({ files, directories, links })) {
    for (const [{ path }, one] of place.entries<NodeEntry>(kind, list)) {
      if (isBelowLink(path)) one.error("the path leads through a link of this config");
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

const ENDINGS = new Set(
  "service socket device mount automount swap target path timer snapshot slice scope".split(" ").map((e) => `.${e}`),
);

/** Checks systemd units, their drop-ins, and the paths they take. */
function checkUnits({ systemd, storage }: Config, top: ConfigPlace): void {
  const units = systemd?.units ?? [];
  const readings = units.map(({ contents = "" }) => parseUnit(contents));
  const place = top.at("systemd");
  for (const [unit, one, index] of place.entries("units", units)) checkUnit(unit, readings[index]!, one);
  const templates = new Map(units.map(({ name, contents }, index) => [name, contents ? readings[index] : undefined]));
  for (const [unit, one] of place.entries("units", units)) checkInstance(unit, one, templates);
  const taken = new Set(units.flatMap(pathsOf));
  for (const kind of ["files", "directories", "links"] as const) {
    for (const [{ path }, one] of top.at("storage").entries<NodeEntry>(kind, storage?.[kind])) {
      if (taken.has(path)) one.error("a unit or drop-in of this config has the path", "path");
    }
  }
}

function pathsOf({ name, contents, dropins = [] }: Unit): string[] {
  const file = `/etc/systemd/system/${name}`;
  const parts = dropins.filter((dropin) => dropin.contents).map((dropin) => `${file}.d/${dropin.name}`);
  return contents ? [file, ...parts] : parts;
}

type UnitReading = ReturnType<typeof parseUnit>;

function checkUnit({ name, contents, dropins, enabled }: Unit, sections: UnitReading, place: ConfigPlace): void {
  if (!ENDINGS.has(ending(name))) place.error("a unit's name ends in its kind, such as .service", "name");
  if (typeof sections === "string") place.error(`the unit cannot be read: ${sections}`, "contents");
  else if (enabled === true && contents && !sections.has("Install"))
    place.warning("the unit is enabled but has no [Install] section, so nothing starts it", "contents");
  for (const [dropin, one] of place.entries("dropins", dropins)) {
    const part = parseUnit(dropin.contents ?? "");
    if (typeof part === "string") one.error(`the drop-in cannot be read: ${part}`, "contents");
    if (ending(dropin.name) !== ".conf") one.error("a drop-in's name ends in .conf", "name");
  }
}

/** `name@instance.service` is enabled by what its template says. */
function checkInstance(
  { name, enabled }: Unit,
  place: ConfigPlace,
  templates: ReadonlyMap<string, UnitReading | undefined>,
): void {
  const template = enabled === true ? templateOf(name) : undefined;
  const sections = template === undefined ? undefined : templates.get(template);
  if (typeof sections === "object" && !sections.has("Install"))
    place.warning(`the template ${template} has no [Install] section, so nothing starts its instance`, "contents");
}

/** `name@.service` for `name@instance.service`, undefined for what is no instance. */
function templateOf(name: string): string | undefined {
  const at = name.indexOf("@", 1);
  const isInstance = at !== -1 && name.endsWith(".service") && at + 1 < name.length - ".service".length;
  return isInstance && !name.includes("\n") ? `${name.slice(0, at)}@.service` : undefined;
}

export const nodeRules = [
  rule(fileShape, checkFile),
  rule(directory, checkNode),
  rule(link, checkLink),
  rule(storage, checkStorage),
  rule(configShape, (config, place) => checkUnits(config as Config, place)),
];

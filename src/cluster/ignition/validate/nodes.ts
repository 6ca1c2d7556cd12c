/** Files, directories and links, and what they must not do to each other. */
import type { Problems } from "../finding.js";
import type { JsonPath } from "../json-path.js";
import type { FileEntry, LinkEntry, NodeEntry, Storage } from "../model/config.js";
import type { Minor } from "../model/spec.js";
import { cleaned, pathObjection } from "./paths.js";
import { checkResource } from "./resources.js";

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

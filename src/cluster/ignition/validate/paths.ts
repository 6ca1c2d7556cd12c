import { posix } from "node:path";

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

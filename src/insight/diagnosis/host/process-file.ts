/** Where a file that a process was told of lies for us: it may stand in another folder, or in a container. */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";

export function processFile(pid: number, path: string): string {
  if (!isAbsolute(path)) return `/proc/${pid}/cwd/${path}`;
  return existsSync(path) ? path : `/proc/${pid}/root${path}`;
}

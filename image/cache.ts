import { renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Outside the tree, shared by all checkouts of this user. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "drawbridge");
}

/** Puts a finished folder where everybody looks for it. Another build may have been faster; its files are the same. */
export function shelve(finished: string, place: string): void {
  try {
    renameSync(finished, place);
  } catch (reason) {
    if (!["ENOTEMPTY", "EEXIST"].includes((reason as NodeJS.ErrnoException).code ?? "")) throw reason;
  }
}

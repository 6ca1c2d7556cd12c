import { homedir } from "node:os";
import { join } from "node:path";

/** Outside the tree, shared by all checkouts of this user. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "drawbridge");
}

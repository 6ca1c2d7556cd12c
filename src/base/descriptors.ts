/** How many file descriptors this process may still open. */
import { readdirSync, readFileSync } from "node:fs";

export interface Descriptors {
  /** Of the process; Infinity where it is not known or there is none. */
  readonly limit: number;
  /** Open now; undefined where it cannot be found out. */
  count(): number | undefined;
}

export const processDescriptors: Descriptors = { limit: readLimit(), count: countOpen };

/** Node raises the soft limit to the hard one when it starts, so it is read as the kernel has it now. */
function readLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function countOpen(): number | undefined {
  try {
    // The one that reads the directory is among them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import { openFiles, ownMiB, residentMiB } from "../load/procfs.js";

/** What a process holds. */
export interface Weight {
  readonly residentMiB: number;
  /** Its own memory; the kernel's buffers of its sockets are not in it. */
  readonly ownMiB: number;
  readonly files: number;
}

/** What one piece costs: the difference to the same process without any, divided by their number. */
export interface Cost {
  readonly ownKiB: number;
  readonly files: number;
}

/** Time for garbage of the opening to be collected; processes give memory back when they rest. */
const REST_MS = 3_000;

/** V8 gives back what a burst needed after 10 to 15 seconds of rest. */
export const LONG_REST_MS = 15_000;

/** Of a process that has come to rest. */
export async function weigh(pids: readonly number[], restMs = REST_MS): Promise<Weight[]> {
  await sleep(restMs);
  return pids.map((pid) => ({ residentMiB: residentMiB(pid), ownMiB: ownMiB(pid), files: openFiles(pid) }));
}

export const costOf = (before: Weight, after: Weight, pieces: number): Cost => ({
  ownKiB: ((after.ownMiB - before.ownMiB) * 1024) / pieces,
  files: (after.files - before.files) / pieces,
});

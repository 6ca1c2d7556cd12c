import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, openFiles, ownMiB, residentMiB } from "../load/procfs.js";

/** What a process holds. */
export interface Weight {
  readonly residentMiB: number;
  /** Its own memory; the kernel's buffers of its sockets are not in it. */
  readonly ownMiB: number;
  readonly files: number;
  /** Used since it was started. */
  readonly cpuSeconds: number;
}

/** What one piece costs: the difference to the same process without any, divided by their number. */
export interface Cost {
  readonly ownKiB: number;
  readonly files: number;
  /** To have it: what the process used until it had come to rest again. */
  readonly cpuMillis: number;
}

/** V8 gives back what a burst needed after 10 to 15 seconds of rest. */
const REST_MS = 15_000;

/** Of a process that has come to rest. */
export async function weigh(pids: readonly number[]): Promise<Weight[]> {
  await sleep(REST_MS);
  return pids.map((pid) => ({
    residentMiB: residentMiB(pid),
    ownMiB: ownMiB(pid),
    files: openFiles(pid),
    cpuSeconds: cpuSeconds(pid),
  }));
}

export const costOf = (before: Weight, after: Weight, pieces: number): Cost => ({
  ownKiB: ((after.ownMiB - before.ownMiB) * 1024) / pieces,
  files: (after.files - before.files) / pieces,
  cpuMillis: ((after.cpuSeconds - before.cpuSeconds) * 1e3) / pieces,
});

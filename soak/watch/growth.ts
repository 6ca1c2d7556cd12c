import type { CensusRow, ProcessRow } from "./census.js";

/** Files a process may have open for a moment: a scrape, a connection attempt. */
const SPARE_FILES = 6;

/**
 * Node gives memory back late, so a process may weigh this much more at the end than after the warm-up. Restarted ones
 * are younger than their first row and only lighter for it.
 */
const RESIDENT_FACTOR = 1.3;
const RESIDENT_SPARE_MIB = 32;

/** Whether anything grows that should not: sentences, none when all is well. */
export function growthIn(rows: readonly CensusRow[]): string[] {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  return last.processes.flatMap((now, index) => {
    const then = first.processes[index]!;
    return [filesOf(then, now), memoryOf(then, now)].filter((sentence) => sentence !== undefined);
  });
}

function filesOf(then: ProcessRow, now: ProcessRow): string | undefined {
  // Each tunnel is one file at a server, the caller's, and one at an agent, the endpoint's.
  const [before, after] = [then.openFiles - then.tunnels, now.openFiles - now.tunnels];
  if (after <= before + SPARE_FILES) return undefined;
  return `${now.name} leaks files: ${after} besides those of its tunnels, ${before} after the warm-up`;
}

function memoryOf(then: ProcessRow, now: ProcessRow): string | undefined {
  const bound = residentBound(then.residentMiB);
  if (now.residentMiB <= bound) return undefined;
  const [is, was] = [now, then].map(({ residentMiB }) => Math.round(residentMiB));
  return `${now.name} grew to ${is} MiB, from ${was} MiB after the warm-up; ${Math.round(bound)} MiB would be in order`;
}

export const residentBound = (afterWarmUp: number): number => afterWarmUp * RESIDENT_FACTOR + RESIDENT_SPARE_MIB;

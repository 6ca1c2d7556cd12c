import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The kernel counts CPU time for user space in hundredths of a second on every Linux that matters. */
const TICKS_PER_SECOND = 100;

/** User and kernel time of all threads of a process. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may contain spaces; utime and stime are the 12th and 13th field behind it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export const cpuSecondsOf = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** Resident memory now. */
export const residentMiB = (pid: number): number => statusMiB(pid, "VmRSS");

export const residentMB = (pid: number): number => (residentMiB(pid) * 2 ** 20) / 1e6;

/** Resident memory that is its own: no file's, nobody else's. */
export const ownMiB = (pid: number): number => statusMiB(pid, "RssAnon");

export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** The most it ever was, or since the last time it was forgotten. */
export const peakMiB = (pid: number): number => statusMiB(pid, "VmHWM");

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5");

function statusMiB(pid: number, field: string): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").match(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m"));
  if (!line) throw new Error(`/proc/${pid}/status has no ${field}`);
  return Number(line[1]) / 1024;
}

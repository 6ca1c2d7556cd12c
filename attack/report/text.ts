import type { Verdict } from "../harness/verdict.js";

/** One line for whoever watches. */
export function line(verdict: Verdict): string {
  const { name, failures, skipped } = verdict;
  if (skipped !== undefined) return `skipped  ${name}: ${skipped}`;
  const figures = [
    `p99 ${ms(verdict.p99Ms)}${verdict.sinkP99Ms === undefined ? "" : ` (sink ${ms(verdict.sinkP99Ms)})`}`,
    `${verdict.peakMiB?.toFixed(0) ?? "-"} of ${verdict.boundMiB} MiB`,
    `${verdict.requests} requests`,
    `${verdict.connections} connections, ${verdict.ended} ended, ${verdict.held} held`,
    `${verdict.megabytes.toFixed(1)} MB`,
    ...(verdict.pairs.length > 1 ? [`${verdict.pairs.length} pairs of rounds`] : []),
    ...verdict.notes,
  ].join(", ");
  return `${failures.length === 0 ? "held   " : "FAILED "}  ${name.padEnd(36)} ${[figures, ...failures].join("\n           ")}`;
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

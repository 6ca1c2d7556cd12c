/** README.md claims no more than what the newest run in docs/benchmarks.json measured. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ratioOf, spreadOf } from "./results/verdicts.js";
import { writtenRuns } from "./results/write.js";
import { allRows } from "./rows/index.js";

const lines = readFileSync(new URL("../README.md", import.meta.url), "utf8").split("\n");
const run = writtenRuns()[0]!;
const rowOf = (name: string) => allRows.find((row) => row.name === name)!;

const claimOf = (beginning: string, row: string): number => {
  const line = lines.find((each) => each.startsWith(`| ${beginning}`)) ?? "";
  expect(line).toContain(`(docs/benchmarks.md#${row})`);
  return Number(/\*\*([\d.]+) (?:×|ms)\*\*/.exec(line)?.[1]);
};

// Half of the last digit that the README gives.
test.each([
  ["throughput of 8 downloads", "bulk-down-8", "rate", 0.05],
  ["processor time", "bulk-down-8", "cpuPerGB", 0.005],
  ["small requests a second", "ping-pong-64", "rate", 0.05],
  ["server's memory", "memory", "heldServer", 0.005],
] as const)("%s: no better than in row %s", (beginning, row, metric, rounding) => {
  const { median } = ratioOf(run, rowOf(row), "ours/ours", metric)!;
  const claim = claimOf(beginning, row);
  if (metric === "rate") expect(claim).toBeLessThanOrEqual(median + rounding);
  else expect(claim).toBeGreaterThanOrEqual(median - rounding);
});

test("the pause beside a caller that does not read: no shorter than in its row, and upstream's others stand still", () => {
  const claim = claimOf("longest pause", "stalled-reader");
  expect(claim).toBeGreaterThanOrEqual(spreadOf(run, rowOf("stalled-reader"), "ours/ours", "pause")!.median - 0.5);
  expect(run.incidents).toContainEqual(
    expect.objectContaining({
      row: "stalled-reader",
      name: "Go/Go",
      fault: expect.objectContaining({ kind: "frozen" }),
    }),
  );
});

// Where drawbridge is not better, README says how much.
test.each([
  ["new-tunnels", "rate"],
  ["ping-pong-1", "p50"],
  ["grpc-ping-pong-64", "rate"],
] as const)("what is about equal: the ratio of row %s", (row, metric) => {
  const { median } = ratioOf(run, rowOf(row), "ours/ours", metric)!;
  expect(lines.join(" ")).toContain(`(${median.toFixed(2)} ×)`);
});

/** README.md claims no more than what docs/benchmarks.json measured. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Bar {
  readonly row: string;
  readonly metric: string;
  readonly against: "rival" | "limit";
  readonly rule: "at least" | "at most";
  readonly got: { readonly median: number };
}

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const lines = read("README.md").split("\n");
const { bars, rows, incidents } = JSON.parse(read("docs/benchmarks.json")) as {
  bars: Bar[];
  rows: { name: string; contenders: Record<string, { spread: Record<string, { median: number }> }> }[];
  incidents: { row: string; name: string; fault: { kind: string } }[];
};

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
  const bar = bars.find((each) => each.row === row && each.metric === metric && each.against === "rival")!;
  const claim = claimOf(beginning, row);
  if (bar.rule === "at least") expect(claim).toBeLessThanOrEqual(bar.got.median + rounding);
  else expect(claim).toBeGreaterThanOrEqual(bar.got.median - rounding);
});

test("the pause beside a caller that does not read: no shorter than in its row, and upstream's others stand still", () => {
  const row = rows.find(({ name }) => name === "stalled-reader")!;
  const claim = claimOf("longest pause", "stalled-reader");
  expect(claim).toBeGreaterThanOrEqual(row.contenders["ours/ours"]!.spread.pause!.median - 0.5);
  expect(incidents).toContainEqual(
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
] as const)("what is about equal: the ratio of row %s", (row, column) => {
  const [, section = ""] = read("docs/benchmarks.md").split(`### ${row}\n`);
  const cells = (beginning: string): string[] =>
    (section.split("\n").find((line) => line.startsWith(beginning)) ?? "").split("|").map((cell) => cell.trim());
  const at = cells("|  |").findIndex((title) => title.startsWith(column));
  const [median] = cells("| ours/ours ÷ Go/Go")[at]!.split(" ");
  expect(lines.join(" ")).toContain(`(${median} ×)`);
});

import { expect, test } from "vitest";
import type { ContenderName } from "../contenders/contender.js";
import type { Measured } from "../rounds.js";
import { type Measurement, metric, type Row, ratio } from "../rows/row.js";
import { binds } from "./binding.js";
import { markdown } from "./markdown.js";
import { makeReport, toJson } from "./report.js";
import { percentile, sameRoundRatios, spread } from "./statistics.js";

const row: Row = {
  name: "row",
  about: "A row.",
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go"],
  metrics: [metric("rate", "rate", "req/s")],
  bars: [ratio("rate", "at least", 2)],
  measure: () => Promise.reject(new Error("not measured here")),
};

const runs = (...values: (number | undefined)[]): Measurement[] =>
  values.map((rate) => ({ values: rate === undefined ? {} : { rate }, faults: [] }));

function reportOf(ours: Measurement[], theirs: Measurement[]) {
  const measured: Measured = new Map([
    [
      row,
      new Map<ContenderName, Measurement[]>([
        ["ours/ours", ours],
        ["Go/Go", theirs],
      ]),
    ],
  ]);
  const machine = { processor: "p", cores: 2, memoryGiB: 8, kernel: "6", node: "v20", upstream: "v0", loadBefore: 0 };
  return makeReport({ machine, rounds: ours.length, seconds: 1, minutes: 1, measured });
}

test("the data centre is told line by line, and whether somebody was left out", () => {
  const lines = ["one token: 2 machines, 1 error", "  no handshake"];
  const report = { ...reportOf(runs(1), runs(1)), dataCentre: { lines, intact: false } };
  expect(markdown(report)).toContain("- one token: 2 machines, 1 error\n  - no handshake\n\n**Not every machine");
  expect(JSON.parse(toJson(report)).dataCentre).toEqual({ lines, intact: false });
  const { dataCentre: _, ...without } = report;
  expect(markdown(without)).not.toContain("data centre");
});

test("the median of an even number lies between the middle two", () => {
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, least: 1, most: 4 });
  expect(spread([5, 1, 3])?.median).toBe(3);
  expect(spread([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])?.median).toBe(Number.POSITIVE_INFINITY);
  expect(spread([])).toBeUndefined();
});

test("a percentile is one of the values", () => {
  const values = Array.from({ length: 200 }, (_, i) => 200 - i);
  expect([50, 99, 100].map((percent) => percentile(values, percent))).toEqual([100, 198, 200]);
  expect([percentile([7], 1), percentile([], 50)]).toEqual([7, 0]);
});

test("ratios take values of the same round only", () => {
  expect(sameRoundRatios([4, undefined, 9], [2, 5, 3])).toEqual([2, 3]);
  expect(sameRoundRatios([4], [])).toEqual([]);
});

test("a bar is judged by the median of the ratios, not by the ratio of the medians", () => {
  const [verdict] = reportOf(runs(10, 21, 60), runs(10, 10, 20)).verdicts;
  expect(verdict).toMatchObject({ met: true, got: { median: 2.1, least: 1, most: 3 } });
  expect(reportOf(runs(10, 19, 60), runs(10, 10, 20)).verdicts[0]?.met).toBe(false);
});

test("a bar with nothing to compare is missed", () => {
  const report = reportOf(runs(undefined), runs(10));
  expect(report.verdicts[0]).toMatchObject({ met: false, got: undefined });
  expect(markdown(report)).toContain("| row | rate ≥ 2 x Go/Go | nothing to compare | **missed** |");
});

test("what never ended is called frozen, in text and in JSON", () => {
  const report = reportOf(runs(10), runs(Number.POSITIVE_INFINITY));
  expect(markdown(report)).toContain("| Go/Go | frozen |");
  expect(JSON.parse(toJson(report)).rows[0].contenders["Go/Go"].rounds).toEqual([{ rate: "frozen" }]);
});

test("a fault of ours is named as a violation, one of Go's only as seen", () => {
  const broken: Measurement[] = [{ values: {}, faults: [{ kind: "wrong bytes", text: "byte 7" }] }];
  expect(markdown(reportOf(broken, runs(1)))).toContain(
    "**Violated:**\n\n- row, ours/ours: wrong bytes in 1 run(s): byte 7",
  );
  expect(markdown(reportOf(runs(1), broken))).not.toContain("Violated");
});

test.each([
  ["wrong bytes", "ours/Go", true],
  ["wrong bytes", "Go/Go", false],
  ["not serving again", "Go/ours", true],
  ["frozen", "Go/ours", false],
  ["frozen", "ours/ours", true],
  ["memory", "relay", false],
] as const)("%s in %s binds: %s", (kind, name, expected) => {
  expect(binds(kind, name)).toBe(expected);
});

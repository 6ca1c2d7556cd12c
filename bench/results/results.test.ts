import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ContenderName } from "../contenders/contender.js";
import type { Measured } from "../rounds.js";
import { allRows } from "../rows/index.js";
import { limit, type Measurement, metric, type Row, ratio, timesRow } from "../rows/row.js";
import { binds } from "./binding.js";
import { EXPLANATIONS } from "./explanations.js";
import { fromJson, toJson } from "./json.js";
import { markdown } from "./markdown.js";
import { type BenchRun, makeRun, withRun } from "./run.js";
import { percentile, sameRoundRatios, spread } from "./statistics.js";
import { verdictsOf } from "./verdicts.js";
import { writtenRuns } from "./write.js";

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

function runOf(ours: Measurement[], theirs: Measurement[], processor = "p", of: Row = row): BenchRun {
  const measured: Measured = new Map([
    [
      of,
      new Map<ContenderName, Measurement[]>([
        ["ours/ours", ours],
        ["Go/Go", theirs],
      ]),
    ],
  ]);
  const machine = { processor, cores: 2, memoryGiB: 8, kernel: "6", node: "v20", upstream: "v0", loadBefore: 0 };
  return makeRun({ date: "2026-11-18", machine, rounds: ours.length, seconds: 1, minutes: 1 }, measured);
}

const page = (...all: BenchRun[]): string => markdown(all, [row, second], {});

/** A row that only some runs have measured. */
const second: Row = { ...row, name: "second", about: "Another row.", bars: [limit("rate", 5, 3)] };

const INTEL = "Intel (family 6, model 207)";
const AMD = "AMD (family 25, model 1)";

test("the page has the last run of each model of processor side by side", () => {
  const [old, amd, intel] = [
    runOf(runs(10), runs(10), INTEL),
    runOf(runs(30), runs(10), AMD),
    runOf(runs(15), runs(10), INTEL),
  ];
  const kept = withRun(withRun([old], amd, true), intel, true);
  expect(kept).toEqual([intel, amd]);
  expect(page(...kept)).toContain(`| Row | Bar for ours | Goal | ${INTEL} | ${AMD} |`);
  expect(page(...kept)).toContain("| [row](#row) | rate ≥ 2 x Go/Go |  | 1.50, **missed** | 3.00, met |");
  expect(page(...kept)).toContain(`**${INTEL}**\n\n1 of 1 bars are missed.\n\n**${AMD}**\n\nAll bars are met`);
  const [, tables] = page(...kept).split("### row\n");
  expect(tables).toMatch(
    /\*\*Intel.*\n\n.*\n.*\n\| ours\/ours \| 15 \|[\s\S]*\*\*AMD.*\n\n.*\n.*\n\| ours\/ours \| 30 \|/,
  );
});

test("a run of chosen rows replaces those rows of the last whole run on its processor", () => {
  const whole = runOf(runs(10), runs(10), INTEL);
  const other = runOf(runs(30), runs(10), AMD);
  const chosen = { ...runOf(runs(4, 4), runs(9, 9), INTEL, second), date: "2026-11-19" };
  const kept = withRun([other, whole], chosen, false);
  expect(kept.map(({ machine }) => machine.processor)).toEqual([INTEL, AMD]);
  expect(kept[0]!.rows).toEqual({ ...whole.rows, ...chosen.rows });
  expect(page(...kept)).toContain("  - `second` by a later run of its own: 2026-11-19, 2 round(s), 1 s a run");
  expect(page(...kept)).toContain("| [second](#second) | rate ≤ 5 req/s | ≤ 3 req/s | 4.00, met | not measured |");
  expect(withRun([other], chosen, false)).toEqual([chosen, other]);
});

test("what is written is read back", () => {
  const run = runOf(runs(10, undefined), runs(Number.POSITIVE_INFINITY, 2));
  expect(fromJson(toJson(run))).toEqual(run);
});

test("docs/benchmarks.md is what docs/benchmarks.json says", () => {
  expect(readFileSync(new URL("../../docs/benchmarks.md", import.meta.url), "utf8")).toBe(
    markdown(writtenRuns(), allRows),
  );
});

test("the data centre is told line by line, and whether somebody was left out", () => {
  const lines = ["one token: 2 machines, 1 error", "  no handshake"];
  const run = runOf(runs(1), runs(1));
  expect(page({ ...run, dataCentre: { lines, intact: false } })).toContain(
    "- one token: 2 machines, 1 error\n  - no handshake\n\n**Not every machine",
  );
  expect(page(run)).not.toContain("data centre");
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

const verdictOf = (run: BenchRun, of = row) => verdictsOf(run, [of])[0];

test("a bar is judged by the median of the ratios, not by the ratio of the medians", () => {
  expect(verdictOf(runOf(runs(10, 21, 60), runs(10, 10, 20)))).toMatchObject({
    met: true,
    got: { median: 2.1, least: 1, most: 3 },
  });
  expect(verdictOf(runOf(runs(10, 19, 60), runs(10, 10, 20)))?.met).toBe(false);
});

test("rows that share their bars are judged each by its own values", () => {
  const twin: Row = { ...row, name: "twin" };
  const [run] = withRun([runOf(runs(10), runs(10))], runOf(runs(30), runs(10), "p", twin), false);
  expect(markdown([run!], [row, twin], {})).toMatch(
    /\(#row\) .* 1\.00, \*\*missed\*\* \|\n.*\(#twin\) .* 3\.00, met \|/,
  );
});

test("a bar with nothing to compare is missed", () => {
  const run = runOf(runs(undefined), runs(10));
  expect(verdictOf(run)).toMatchObject({ met: false, got: undefined });
  expect(page(run)).toContain("| [row](#row) | rate ≥ 2 x Go/Go |  | nothing to compare, **missed** |");
});

test("a bar about something that an older run has not looked at is not judged by it", () => {
  const newer: Row = { ...row, metrics: [...row.metrics, metric("peak", "peak", "MiB")], bars: [limit("peak", 80)] };
  const older = runOf(runs(10), runs(10));
  expect(verdictOf(older, newer)).toBeUndefined();
  expect(markdown([older], [newer], {})).toContain("| peak ≤ 80 MiB |  | not measured |");
});

test("a goal beyond the bar is judged, too", () => {
  const judge = (value: number) => verdictOf(runOf(runs(value), runs(1), "p", second), second);
  expect([judge(6), judge(4), judge(3)]).toMatchObject([
    { met: false, reached: false },
    { met: true, reached: false },
    { met: true, reached: true },
  ]);
});

test("a goal may be about something else than its bar", () => {
  const peak: Row = { ...second, bars: [{ ...limit("rate", 80), goal: { against: "rival", value: 1 } }] };
  const judge = (ours: number) => verdictOf(runOf(runs(ours), runs(40), "p", peak), peak);
  expect([judge(90), judge(70), judge(40)]).toMatchObject([
    { met: false, reached: false },
    { met: true, reached: false },
    { met: true, reached: true },
  ]);
  expect(markdown([runOf(runs(70), runs(40), "p", peak)], [peak], {})).toContain(
    "| rate ≤ 80 req/s | ≤ 1 x Go/Go | 70.00, met |",
  );
});

test("a bar may be about ours in another row", () => {
  const many: Row = { ...second, bars: [timesRow("rate", "row", 3, 2)] };
  const run = withRun([runOf(runs(10, 20), runs(1, 1))], runOf(runs(25, 50), runs(1, 1), "p", many), false)[0]!;
  expect(verdictOf(run, many)).toMatchObject({ met: true, reached: false, got: { median: 2.5 } });
  expect(markdown([run], [row, many], {})).toContain("| rate ≤ 3 x row | ≤ 2 x row | 2.50, met |");
});

test("a missed bar is explained, or said not to be", () => {
  const run = runOf(runs(1), runs(1));
  expect(page(run)).toContain("- row, rate: 1.00 on p; **not explained yet**");
  expect(markdown([run], [row], { "row rate": "the kernel is slow" })).toContain(
    "- row, rate: 1.00 on p; the kernel is slow",
  );
  expect(page(runOf(runs(3), runs(1)))).not.toContain("Why bars are missed");
});

test.each(Object.keys(EXPLANATIONS))("there is a bar that %s explains", (key) => {
  const [name, metric] = key.split(" ");
  const explained = allRows.find((each) => each.name === name);
  expect(explained?.bars.map((bar) => bar.metric)).toContain(metric);
});

test("every bar is about a metric of its row, and another row that it is compared with exists", () => {
  for (const { name, bars, metrics } of allRows) {
    for (const { metric, against } of bars) {
      expect(
        metrics.map(({ key }) => key),
        name,
      ).toContain(metric);
      if (typeof against === "object") expect(allRows.map((each) => each.name)).toContain(against.row);
    }
  }
});

test("what never ended is called frozen, in text and in JSON", () => {
  const run = runOf(runs(10), runs(Number.POSITIVE_INFINITY));
  expect(page(run)).toContain("| Go/Go | frozen |");
  expect(JSON.parse(toJson(run)).rows.row["Go/Go"]).toEqual([{ rate: "frozen" }]);
});

test("a fault of ours is named as a violation, one of Go's only as seen", () => {
  const broken: Measurement[] = [{ values: {}, faults: [{ kind: "wrong bytes", text: "byte 7" }] }];
  expect(page(runOf(broken, runs(1)))).toContain("**Violated:**\n\n- row, ours/ours: wrong bytes in 1 run(s): byte 7");
  expect(page(runOf(runs(1), broken))).not.toContain("Violated");
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

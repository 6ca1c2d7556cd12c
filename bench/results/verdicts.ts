import type { ContenderName } from "../contenders/contender.js";
import { type Aim, type Bar, type Row, rivalsOf } from "../rows/row.js";
import type { BenchRun } from "./run.js";
import { type Spread, sameRoundRatios, spread } from "./statistics.js";

/** One bar held against what was measured. */
export interface Verdict {
  readonly row: Row;
  readonly bar: Bar;
  /** The ratio, or the value itself; undefined when there was nothing to compare. */
  readonly got: Spread | undefined;
  readonly met: boolean;
  /** The goal beyond the bar; undefined where there is none. */
  readonly reached?: boolean;
}

/** One value for each round in which there is one. */
const valuesOf = (run: BenchRun, row: string, name: ContenderName, metric: string): (number | undefined)[] =>
  (run.rows[row]?.[name] ?? []).map((values) => values?.[metric]);

export const spreadOf = (run: BenchRun, row: Row, name: ContenderName, metric: string): Spread | undefined =>
  spread(valuesOf(run, row.name, name, metric).filter((value) => value !== undefined));

/** Against the rival of the same round. */
export function ratioOf(run: BenchRun, row: Row, name: ContenderName, metric: string): Spread | undefined {
  const theirs = valuesOf(run, row.name, rivalsOf(row).theirs, metric);
  return spread(sameRoundRatios(valuesOf(run, row.name, name, metric), theirs));
}

/** Of all bars whose metric the run has looked at: an older run knows nothing of newer ones. */
export const verdictsOf = (run: BenchRun, rows: readonly Row[]): Verdict[] =>
  rows.flatMap((row) =>
    row.bars.filter(({ metric }) => looksAt(run, row, metric)).map((bar) => verdictOf(run, row, bar)),
  );

/** A row that failed in every round was looked at, too. */
function looksAt(run: BenchRun, row: Row, metric: string): boolean {
  const values = run.rows[row.name]?.[rivalsOf(row).ours];
  const measured = values?.filter((each) => each !== null && Object.keys(each).length > 0) ?? [];
  return values !== undefined && (measured.length === 0 || measured.some((each) => each !== null && metric in each));
}

function verdictOf(run: BenchRun, row: Row, bar: Bar): Verdict {
  const reached = bar.goal && { reached: meets(gotFor(run, row, bar.metric, bar.goal), bar.rule, bar.goal.value) };
  const got = gotFor(run, row, bar.metric, bar);
  return { row, bar, got, met: meets(got, bar.rule, bar.value), ...reached };
}

function gotFor(run: BenchRun, row: Row, metric: string, { against }: Aim): Spread | undefined {
  const { ours } = rivalsOf(row);
  if (against === "limit") return spreadOf(run, row, ours, metric);
  if (against === "rival") return ratioOf(run, row, ours, metric);
  const elsewhere = valuesOf(run, against.row, ours, metric);
  return spread(sameRoundRatios(valuesOf(run, row.name, ours, metric), elsewhere));
}

const meets = (got: Spread | undefined, rule: Bar["rule"], wanted: number): boolean =>
  got !== undefined && (rule === "at least" ? got.median >= wanted : got.median <= wanted);

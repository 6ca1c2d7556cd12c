import type { ContenderName } from "../contenders/contender.js";
import type { Measured } from "../rounds.js";
import { type Bar, type Row, rivalsOf } from "../rows/row.js";
import { type Spread, sameRoundRatios, spread } from "./statistics.js";

/** One bar held against what was measured. */
export interface Verdict {
  readonly row: Row;
  readonly bar: Bar;
  /** The ratio, or the value itself; undefined when there was nothing to compare. */
  readonly got: Spread | undefined;
  readonly met: boolean;
}

/** One value for each round in which there is one. */
export function valuesOf(measured: Measured, row: Row, name: ContenderName, metric: string): (number | undefined)[] {
  return (measured.get(row)?.get(name) ?? []).map((measurement) => measurement?.values[metric]);
}

export const spreadOf = (measured: Measured, row: Row, name: ContenderName, metric: string): Spread | undefined =>
  spread(valuesOf(measured, row, name, metric).filter((value) => value !== undefined));

/** Against the rival of the same round. */
export function ratioOf(measured: Measured, row: Row, name: ContenderName, metric: string): Spread | undefined {
  const { theirs } = rivalsOf(row);
  return spread(sameRoundRatios(valuesOf(measured, row, name, metric), valuesOf(measured, row, theirs, metric)));
}

export function verdictsOf(measured: Measured): Verdict[] {
  return [...measured.keys()].flatMap((row) =>
    row.bars.map((bar) => {
      const compare = bar.against === "limit" ? spreadOf : ratioOf;
      const got = compare(measured, row, rivalsOf(row).ours, bar.metric);
      return { row, bar, got, met: got !== undefined && meets(got.median, bar) };
    }),
  );
}

function meets(value: number, { rule, value: wanted }: Bar): boolean {
  return rule === "at least" ? value >= wanted : value <= wanted;
}

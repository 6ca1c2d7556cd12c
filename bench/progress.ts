import { number } from "./results/format.js";
import type { Measurement, Metric } from "./rows/row.js";

const MOST_FIGURES = 4;

export interface MeasuredStep {
  readonly round: number;
  readonly row: { readonly name: string; readonly metrics: readonly Metric[] };
  /** Who was measured. */
  readonly name: string;
  readonly measurement: Measurement;
}

/** One run in one line, its first figures only. */
export function measuredLine(
  rounds: number,
  { round, row, name, measurement: { values, faults } }: MeasuredStep,
): string {
  const figures = row.metrics
    .filter(({ key }) => values[key] !== undefined)
    .slice(0, MOST_FIGURES)
    .map(({ key, label, unit, digits }) => `${label} ${number(values[key]!, digits)} ${unit}`);
  const wrong = faults.map(({ kind, text }) => `${kind.toUpperCase()}: ${text.split("\n")[0]}`);
  return `[${round + 1}/${rounds}] ${row.name.padEnd(20)} ${name.padEnd(13)} ${[...figures, ...wrong].join(", ")}`;
}

import type { ContenderName } from "./contenders/contender.js";
import { number } from "./results/format.js";
import type { Measurement, Row } from "./rows/row.js";

/** Standard error, so that --output json stays clean. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

export function sayMeasured(
  rounds: number,
  { round, row, name, measurement }: { round: number; row: Row; name: ContenderName; measurement: Measurement },
): void {
  const figures = row.metrics
    .filter(({ key }) => measurement.values[key] !== undefined)
    .slice(0, 4)
    .map(({ key, label, unit, digits }) => `${label} ${number(measurement.values[key]!, digits)} ${unit}`);
  const faults = measurement.faults.map(({ kind, text }) => `${kind.toUpperCase()}: ${text.split("\n")[0]}`);
  say(`[${round + 1}/${rounds}] ${row.name.padEnd(20)} ${name.padEnd(9)} ${[...figures, ...faults].join(", ")}`);
}

import type { Metric } from "../rows/row.js";
import type { Spread } from "./statistics.js";

/** A value as people read it; what never came to an end is "frozen". */
export function number(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return "frozen";
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Median and, where there was more than one round, the least and the most. */
export function withSpread({ median, least, most }: Spread, digits: number): string {
  const middle = number(median, digits);
  return least === most ? middle : `${middle} (${number(least, digits)} – ${number(most, digits)})`;
}

export const heading = ({ label, unit }: Metric): string => `${label}, ${unit}`;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

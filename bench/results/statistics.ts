export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : mean(sorted[middle - 1]!, sorted[middle]!);
  return { median, least: sorted[0]!, most: sorted.at(-1)! };
}

/** Half-way between two values, also when one never ended. */
const mean = (a: number, b: number): number => (a === b ? a : (a + b) / 2);

/** Values of the same round divided; a round in which either is missing does not count. */
export function sameRoundRatios(
  ours: readonly (number | undefined)[],
  theirs: readonly (number | undefined)[],
): number[] {
  return ours.flatMap((value, round) => {
    const other = theirs[round];
    if (value === undefined || other === undefined || other === 0) return [];
    const quotient = value / other;
    return Number.isNaN(quotient) ? [] : [quotient];
  });
}

/** The least value that so many of a hundred do not exceed; 0 where there is none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}

/** Dials and failures of ten minutes as two shapes of bars in a small box. */

export interface Sparkline {
  /** Of a path: those that were established stand on those that failed. */
  readonly dials: string;
  readonly failures: string;
}

export function sparkline(
  { dials, failures }: { readonly dials: readonly number[]; readonly failures: readonly number[] },
  width: number,
  height: number,
  most = Math.max(1, ...dials),
): Sparkline {
  const step = width / dials.length;
  const bar = (at: number, from: number, to: number): string => {
    if (to <= from) return "";
    // A single dial among thousands is still to be seen.
    const size = Math.max(1, ((to - from) / most) * height);
    const bottom = height - (from / most) * height;
    return `M${tidy(at * step)} ${tidy(bottom)}v${tidy(-size)}h${tidy(Math.max(step - 0.4, 0.6))}v${tidy(size)}z`;
  };
  return {
    dials: dials.map((count, at) => bar(at, failures[at] ?? 0, count)).join(""),
    failures: failures.map((count, at) => bar(at, 0, count)).join(""),
  };
}

const tidy = (value: number): number => Math.round(value * 100) / 100;

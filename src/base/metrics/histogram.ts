import type { Family, Labels, Sample } from "./registry.js";

/** Observations by bucket: plain numbers, cheap enough to be counted for every flush. */
export class DurationCounts {
  readonly bounds: readonly number[];
  /** Observations per bucket, not cumulated; the last one is above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  /** `bounds`: the buckets' upper bounds in seconds, ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && seconds > this.bounds[bucket]!) bucket++;
    this.counts[bucket]! += 1;
    this.sum += seconds;
  }
}

interface Series {
  readonly labels: Labels;
  readonly durations: DurationCounts;
}

export class DurationHistogram implements Family {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
  }

  observe(seconds: number): void {
    this.observeWith({}, seconds);
  }

  observeWith(labels: Labels, seconds: number): void {
    this.#seriesFor(labels).durations.observe(seconds);
  }

  #seriesFor(labels: Labels): Series {
    const key = JSON.stringify(labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels, durations: new DurationCounts(this.#bounds) };
      this.#series.set(key, series);
    }
    return series;
  }

  readonly samples = (): Iterable<Sample> =>
    [...this.#series.values()].flatMap(({ labels, durations }) => histogramSamples(labels, durations));
}

/** The samples of a histogram family for one set of labels; none before the first observation. */
export function histogramSamples(labels: Labels, { bounds, counts, sum }: DurationCounts): Sample[] {
  if (!counts.some((count) => count > 0)) return [];
  const samples: Sample[] = [];
  let total = 0;
  for (const [bucket, count] of counts.entries()) {
    total += count;
    const bound = bounds[bucket];
    const le = bound === undefined ? "+Inf" : goFloat(bound);
    samples.push([{ ...labels, le }, total, "_bucket"]);
  }
  samples.push([labels, sum, "_sum"], [labels, total, "_count"]);
  return samples;
}

/** A bucket bound as Go spells it, for Prometheus 2 compares `le` as text: exponents below 1e-4, with two digits. */
export function goFloat(value: number): string {
  if (value === 0 || value >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

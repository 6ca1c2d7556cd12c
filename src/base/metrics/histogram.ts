import type { Family, Labels, MetricsRegistry, Sample } from "./registry.js";

interface Series {
  readonly labels: Labels;
  /** Observations per bucket, not cumulated; the last one is above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in ascending order. */
  readonly buckets: readonly number[];
}

/** Cheap enough to be called for every flush. */
export class DurationHistogram implements Family {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();
  /** The series without labels, kept at hand for the hot path. */
  #plain: Series | undefined;

  constructor(registry: MetricsRegistry, options: HistogramOptions) {
    this.name = options.name;
    this.help = options.help;
    this.#bounds = options.buckets;
    registry.register(this);
  }

  observe(seconds: number): void {
    this.#plain ??= this.#seriesFor({});
    this.#record(this.#plain, seconds);
  }

  observeWith(labels: Labels, seconds: number): void {
    this.#record(this.#seriesFor(labels), seconds);
  }

  #record(series: Series, seconds: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket++;
    series.counts[bucket]! += 1;
    series.sum += seconds;
  }

  #seriesFor(labels: Labels): Series {
    const key = JSON.stringify(labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels, counts: new Float64Array(this.#bounds.length + 1), sum: 0 };
      this.#series.set(key, series);
    }
    return series;
  }

  readonly samples = (): Iterable<Sample> => [...this.#series.values()].flatMap((series) => this.#samplesOf(series));

  #samplesOf({ labels, counts, sum }: Series): Sample[] {
    const samples: Sample[] = [];
    let total = 0;
    for (const [bucket, count] of counts.entries()) {
      total += count;
      const bound = this.#bounds[bucket];
      const le = bound === undefined ? "+Inf" : goFloat(bound);
      samples.push([{ ...labels, le }, total, "_bucket"]);
    }
    samples.push([labels, sum, "_sum"], [labels, total, "_count"]);
    return samples;
  }
}

/** A bucket bound as Go spells it, for Prometheus 2 compares `le` as text: exponents below 1e-4, with two digits. */
export function goFloat(value: number): string {
  if (value === 0 || value >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

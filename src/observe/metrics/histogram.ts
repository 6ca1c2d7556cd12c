import type { Metric, Registry } from "prom-client";

type Labels = Readonly<Record<string, string>>;

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

/**
 * A histogram for prom-client's registry. Not prom-client's own, because `le` must be spelt as Go spells it (`1e-06`):
 * Prometheus 2 compares it as a string. It is also cheap enough to be called for every flush.
 */
export class DurationHistogram {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();
  /** The series without labels, kept at hand for the hot path. */
  #plain: Series | undefined;

  constructor(registry: Registry, options: HistogramOptions) {
    this.name = options.name;
    this.help = options.help;
    this.#bounds = options.buckets;
    // The registry asks a metric for its name and get() only; the declared type is the closed list of its own classes.
    registry.registerMetric(this as unknown as Metric<string>);
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

  /** Called by the registry at scrape time. */
  get(): Promise<object> {
    const values = [...this.#series.values()].flatMap((series) => this.#samplesOf(series));
    return Promise.resolve({ name: this.name, help: this.help, type: this.type, values });
  }

  #samplesOf({ labels, counts, sum }: Series): object[] {
    const samples: object[] = [];
    let total = 0;
    for (const [bucket, count] of counts.entries()) {
      total += count;
      const bound = this.#bounds[bucket];
      const le = bound === undefined ? "+Inf" : goFloat(bound);
      samples.push({ metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: total });
    }
    samples.push({ metricName: `${this.name}_sum`, labels, value: sum });
    samples.push({ metricName: `${this.name}_count`, labels, value: total });
    return samples;
  }
}

/** A bucket bound in Go's shortest notation: exponents below 1e-4, written with two digits. */
export function goFloat(value: number): string {
  if (value === 0 || value >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

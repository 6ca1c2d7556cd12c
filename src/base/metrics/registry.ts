/**
 * Families of samples as Prometheus text. Ours, because of the usual library only this was used while all of it was in
 * memory; and because Go's output is the contract: families by name, none before its first sample.
 */

export type Labels = Readonly<Record<string, string>>;

export type Sample = readonly [labels: Labels, value: number, suffix?: string];

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Called at scrape time. */
  samples(): Iterable<Sample>;
}

export class MetricsRegistry {
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #families = new Map<string, Family>();

  register<Made extends Family>(family: Made): Made {
    if (this.#families.has(family.name)) throw new Error(`two families are called ${family.name}`);
    this.#families.set(family.name, family);
    return family;
  }

  /** A counter that events increase; one without labels shows its zero, as Go's do. */
  counter(name: string, help: string, labelNames: readonly string[] = []): EventCounter {
    const counter = this.register(new EventCounter(name, help));
    if (labelNames.length === 0) counter.inc({}, 0);
    return counter;
  }

  /** `buckets`: upper bounds in seconds, in ascending order. */
  histogram(name: string, help: string, buckets: readonly number[]): DurationHistogram {
    return this.register(new DurationHistogram(name, help, buckets));
  }

  /** A gauge that is read at scrape time: one number, or samples whose label values come and go. */
  gauge(name: string, help: string, read: () => number | Iterable<Sample>): void {
    const samples = (): Iterable<Sample> => {
      const value = read();
      return typeof value === "number" ? [[{}, value]] : value;
    };
    this.register({ name, help, type: "gauge", samples });
  }

  /** A counter that is read at scrape time; samples with equal labels are added. */
  counterRead(name: string, help: string, read: () => Iterable<Sample>): void {
    this.register({ name, help, type: "counter", samples: () => addedUp(read()) });
  }

  text(): string {
    const families = [...this.#families.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return families.map(familyText).join("");
  }
}

function familyText({ name, help, type, samples }: Family): string {
  const lines: string[] = [];
  for (const [labels, value, suffix = ""] of samples()) {
    lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}\n`);
  }
  if (lines.length === 0) return "";
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

/** Values of one family, one for each set of labels. */
class Series<Value> {
  readonly #byKey = new Map<string, readonly [labels: Labels, value: Value]>();

  of(labels: Labels, first: () => Value): Value {
    const key = seriesKey(labels);
    let series = this.#byKey.get(key);
    if (series === undefined) {
      series = [labels, first()];
      this.#byKey.set(key, series);
    }
    return series[1];
  }

  all(): (readonly [labels: Labels, value: Value])[] {
    return [...this.#byKey.values()];
  }
}

export class EventCounter implements Family {
  readonly type = "counter";
  readonly name: string;
  readonly help: string;
  readonly #series = new Series<{ count: number }>();

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  inc(labels: Labels = {}, by = 1): void {
    this.#series.of(labels, () => ({ count: 0 })).count += by;
  }

  readonly samples = (): Iterable<Sample> => this.#series.all().map(([labels, { count }]) => [labels, count]);
}

export class DurationHistogram implements Family {
  readonly type = "histogram";
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Series<DurationCounts>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
  }

  observe(seconds: number, labels: Labels = {}): void {
    this.#series.of(labels, () => new DurationCounts(this.#bounds)).observe(seconds);
  }

  readonly samples = (): Iterable<Sample> => this.#series.all().flatMap((series) => histogramSamples(...series));
}

function addedUp(samples: Iterable<Sample>): Iterable<Sample> {
  const sums = new Map<string, Sample>();
  for (const [labels, value] of samples) {
    const key = seriesKey(labels);
    sums.set(key, [labels, value + (sums.get(key)?.[1] ?? 0)]);
  }
  return sums.values();
}

function seriesKey(labels: Labels): string {
  return Object.values(labels).join("\0");
}

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

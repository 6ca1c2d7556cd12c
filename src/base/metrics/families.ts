/** How a family of samples gets its values: bumped by events, or read when somebody scrapes. */
import type { Family, Labels, MetricsRegistry, Sample } from "./registry.js";

/** A counter that events increase; one without labels shows its zero, as Go's do. */
export class EventCounter implements Family {
  readonly type = "counter";
  readonly name: string;
  readonly help: string;
  readonly #series = new Map<string, { readonly labels: Labels; value: number }>();

  constructor(registry: MetricsRegistry, name: string, help: string, labelNames: readonly string[] = []) {
    this.name = name;
    this.help = help;
    if (labelNames.length === 0) this.inc({}, 0);
    registry.register(this);
  }

  inc(labels: Labels = {}, by = 1): void {
    const key = seriesKey(labels);
    const series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, { labels, value: by });
    else series.value += by;
  }

  readonly samples = (): Iterable<Sample> => [...this.#series.values()].map(({ labels, value }) => [labels, value]);
}

/** A gauge without labels, read at scrape time. */
export function gaugeRead(registry: MetricsRegistry, name: string, help: string, read: () => number): void {
  registry.register({ name, help, type: "gauge", samples: () => [[{}, read()]] });
}

/** A gauge whose label values come and go with what is read. */
export function gaugesRead(registry: MetricsRegistry, name: string, help: string, read: () => Iterable<Sample>): void {
  registry.register({ name, help, type: "gauge", samples: read });
}

/** A counter that others count; samples with equal labels are added. */
export function countersRead(
  registry: MetricsRegistry,
  name: string,
  help: string,
  read: () => Iterable<Sample>,
): void {
  registry.register({ name, help, type: "counter", samples: () => addedUp(read()) });
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

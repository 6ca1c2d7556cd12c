/** How a family of samples gets its values: bumped by events, or read when somebody scrapes. */
import { Counter, Gauge, type Registry } from "prom-client";

export type Sample = readonly [labels: Record<string, string>, value: number];

/** A counter that events increase. */
export function eventCounter<L extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[] = [],
): Counter<L> {
  return new Counter({ name, help, labelNames, registers: [registry] });
}

/** A gauge without labels, read at scrape time. */
export function gaugeRead(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** A gauge whose label values come and go with what is read. */
export function gaugesRead(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Iterable<Sample>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.set(labels, value);
    },
  });
}

/** A counter that somebody else counts; samples with equal labels are added. */
export function countersRead(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Iterable<Sample>,
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
}

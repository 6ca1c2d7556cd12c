import { Registry } from "prom-client";

/**
 * A registry that shows what Go's would: families in order of their name, and none before it has a first sample
 * (prom-client prints the HELP and TYPE lines of empty ones).
 */
export class MetricsRegistry extends Registry {
  override async metrics(): Promise<string> {
    const names = this.getMetricsAsArray()
      .map((metric) => metric.name)
      .sort();
    const families = await Promise.all(names.map((name) => this.getSingleMetricAsString(name)));
    return families
      .filter(hasSamples)
      .map((family) => `${family}\n`)
      .join("");
  }
}

/** HELP and TYPE are one line each, so a third line is a sample. */
function hasSamples(family: string): boolean {
  return family.split("\n", 3).length === 3;
}

/** What a scraper could notice between two pages, as one sentence per difference. */
import type { Family, Sample } from "./page.js";

export interface AllowedDifference {
  readonly why: string;
  /** Which sentence it excuses. */
  readonly sentence: RegExp;
}

export function differences(
  theirs: ReadonlyMap<string, Family>,
  ours: ReadonlyMap<string, Family>,
  allowed: readonly AllowedDifference[] = [],
): string[] {
  const found: string[] = [];
  for (const name of [...new Set([...theirs.keys(), ...ours.keys()])].sort()) {
    const [their, our] = [theirs.get(name), ours.get(name)];
    if (their === undefined) found.push(...(our ? [`${name}: only ours has it (${describe(our)})`] : []));
    else if (our === undefined) found.push(`${name}: ours does not have it`);
    else found.push(...inFamily(their, our));
  }
  return found.filter((sentence) => !allowed.some((difference) => difference.sentence.test(sentence)));
}

function describe(family: Family): string {
  const idle = family.type === "gauge" && family.samples.every((sample) => sample.value === 0);
  return idle ? "a gauge at 0" : `a ${family.type}`;
}

function inFamily(their: Family, our: Family): string[] {
  const found: string[] = [];
  const differ = (what: string, theirText: string, ourText: string) => {
    if (theirText !== ourText) found.push(`${their.name}: ${what} is ${ourText}, theirs is ${theirText}`);
  };
  differ("type", their.type, our.type);
  differ("HELP", their.help, our.help);
  differ("label names", labelNames(their), labelNames(our));
  differ("buckets", buckets(their), buckets(our));
  const [theirSeries, ourSeries] = [series(their), series(our)];
  for (const key of theirSeries.keys())
    if (!ourSeries.has(key)) found.push(`${their.name}: ours lacks the series ${key}`);
  for (const [key, sample] of ourSeries) {
    if (!theirSeries.has(key))
      found.push(`${their.name}: only ours has the series ${key} (${our.type} at ${sample.value})`);
  }
  return found;
}

/** Samples by name and labels, buckets left out: those are compared as a list. */
function series(family: Family): Map<string, Sample> {
  const plain = family.samples.filter((sample) => sample.labels.le === undefined);
  return new Map(plain.map((sample) => [sample.name.slice(family.name.length) + sorted(sample.labels), sample]));
}

function sorted(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([name, value]) => `${name}="${value}"`).join(",")}}`;
}

function labelNames(family: Family): string {
  const names = new Set(family.samples.flatMap((sample) => Object.keys(sample.labels)));
  return [...names].sort().join(",");
}

function buckets(family: Family): string {
  return [...new Set(family.samples.map((sample) => sample.labels.le))].filter((le) => le !== undefined).join(" ");
}

/** Values by series, for those families whose value the story fixes. */
export function valuesOf(page: ReadonlyMap<string, Family>, names: readonly string[]): Record<string, number> {
  const values: Record<string, number> = {};
  for (const name of names) {
    const family = page.get(name);
    if (family === undefined) continue;
    for (const [key, sample] of series(family)) if (!key.startsWith("_sum")) values[name + key] = sample.value;
  }
  return values;
}

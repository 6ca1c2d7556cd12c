/** The sum of all samples of one metric whose labels include the given ones; 0 when there is none. */
export function metric(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  let sum = 0;
  for (const line of text.split("\n")) {
    const sample = /^([\w:]+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (sample?.[1] !== name) continue;
    const present = (sample[2] ?? "").split(",");
    if (wanted.every((label) => present.includes(label))) sum += Number(sample[3]);
  }
  return sum;
}

/** Whether the metric is exported at all: a missing one must not pass for a zero. */
export function hasMetric(text: string, name: string): boolean {
  return text.split("\n").some((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
}

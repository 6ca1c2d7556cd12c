/** Reads the text that a /metrics page serves. */

export interface MetricSample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const LINE = /^([\w:]+)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of one metric; none when the page does not have it. */
export function samplesOf(page: string, metric: string): MetricSample[] {
  return page.split("\n").flatMap((text) => {
    const [, found, labels = "", value = ""] = LINE.exec(text) ?? [];
    if (found !== metric) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = "", raw = ""]) => {
      return [key, raw.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter))] as const;
    });
    return [{ labels: new Map(pairs), value: Number(value) }];
  });
}

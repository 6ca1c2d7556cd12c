/** A Prometheus page as data. */

export interface Sample {
  /** The family's name, or that with `_bucket`, `_sum`, `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** The families whose name begins so, by name. */
export function parsePage(text: string, prefix: string): Map<string, Family> {
  const families = new Map<string, { name: string; help: string; type: string; samples: Sample[] }>();
  let current = "";
  for (const line of text.split("\n")) {
    const header = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (header) {
      const [, what, name = "", rest = ""] = header;
      current = name;
      const family = families.get(name) ?? { name, help: "", type: "", samples: [] };
      if (what === "HELP") family.help = rest;
      else family.type = rest;
      families.set(name, family);
    } else if (line !== "") {
      families.get(current)?.samples.push(parseSample(line));
    }
  }
  for (const name of families.keys()) if (!name.startsWith(prefix)) families.delete(name);
  return families;
}

function parseSample(line: string): Sample {
  const [, name = "", labels = "", value = ""] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === "") throw new Error(`not a line of a Prometheus page: ${line}`);
  const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]);
  return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
}

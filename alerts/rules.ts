import { readFileSync } from "node:fs";
import { parse } from "yaml";

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Recording {
  readonly record: string;
  readonly expr: string;
}

export interface Rules {
  readonly alerts: readonly Alert[];
  readonly recordings: readonly Recording[];
}

export function readRules(): Rules {
  const { groups } = read("drawbridge.rules.yaml") as { groups: { rules: (Alert | Recording)[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  return {
    alerts: rules.filter((rule): rule is Alert => "alert" in rule),
    recordings: rules.filter((rule): rule is Recording => "record" in rule),
  };
}

/** The names of promtool's tests. */
export function readTestNames(): string[] {
  return (read("drawbridge.tests.yaml") as { tests: { name: string }[] }).tests.map(({ name }) => name);
}

function read(name: string): unknown {
  return parse(readFileSync(new URL(name, import.meta.url), "utf8"));
}

/** Whatever in an expression is neither label, number, string nor a word of the language. */
export function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/\{[^}]*\}/g, " ")
    .replace(/\[[^\]]*\]/g, " ")
    .replace(/\b(by|without|on)\s*\([^)]*\)/g, " ")
    .replace(/\boffset\s+\w+/g, " ");
  const names = bare.match(/[a-zA-Z_:][\w:]*/g) ?? [];
  return [...new Set(names.filter((name) => !WORDS.has(name)))];
}

const WORDS = new Set([
  ...["and", "or", "unless", "sum", "max", "group"],
  ...["rate", "increase", "changes", "histogram_quantile", "time"],
]);

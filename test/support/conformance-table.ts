/** Tables of docs/conformance.md: numbered assertions, and the tests that are said to make them. */
import { readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);

export interface ConformanceRow {
  readonly number: number;
  readonly files: readonly string[];
  readonly names: readonly string[];
}

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);

/** Of the section with this heading. */
export function conformanceRows(heading: string): ConformanceRow[] {
  const page = readFileSync(new URL("docs/conformance.md", root), "utf8");
  const section = page.split(`## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return section
    .split("\n")
    .map((line) => /^\| (\d+) \|[^|]+\|([^|]+)\|([^|]+)\|$/.exec(line))
    .filter((row) => row !== null)
    .map(([, number, files, names]) => ({ number: Number(number), files: quoted(files!), names: quoted(names!) }));
}

/** Of tests and of their groups, as written: `%s` is not filled in. */
export function titlesIn(file: string): string[] {
  const text = readFileSync(new URL(file.includes("/") ? file : `test/e2e/${file}`, root), "utf8");
  return [...text.matchAll(/\("((?:[^"\\]|\\.)+)", (?:async )?\(/g)].map(([, title]) => title!);
}

/** `npx tsx bench/results/write.ts` writes the page again, from docs/benchmarks.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { allRows } from "../rows/index.js";
import { fromJson, toJson } from "./json.js";
import { markdown } from "./markdown.js";
import { type BenchRun, withRun } from "./run.js";

const file = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

export const writtenRuns = (): readonly BenchRun[] =>
  fromJson<{ runs: BenchRun[] }>(readFileSync(file("benchmarks.json"), "utf8")).runs;

/** Keeps the last runs on other processors. */
export function writeRun(run: BenchRun, isWhole: boolean): void {
  const json = toJson({ runs: withRun(writtenRuns(), run, isWhole) });
  writeFileSync(file("benchmarks.json"), json);
  writePage();
}

function writePage(): void {
  writeFileSync(file("benchmarks.md"), markdown(writtenRuns(), allRows));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writePage();

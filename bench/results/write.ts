/** `npx tsx bench/results/write.ts` writes the page, and README's table, again, from docs/benchmarks.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type DocsSection, writeSection } from "../../test/support/command/docs-section.js";
import { allRows } from "../rows/index.js";
import { fromJson, toJson } from "./json.js";
import { markdown } from "./markdown.js";
import { readmeText } from "./readme.js";
import { type BenchRun, withRun } from "./run.js";

const file = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

export const README: DocsSection = {
  page: "../README.md",
  name: "benchmarks",
  command: "npm run bench -- --write",
};

export const writtenRuns = (): readonly BenchRun[] =>
  fromJson<{ runs: BenchRun[] }>(readFileSync(file("benchmarks.json"), "utf8")).runs;

/** Keeps the last runs on other processors; README has the newest. */
export function writeRun(run: BenchRun, isWhole: boolean): void {
  const json = toJson({ runs: withRun(writtenRuns(), run, isWhole) });
  writeFileSync(file("benchmarks.json"), json);
  writePage();
}

function writePage(): void {
  const runs = writtenRuns();
  writeFileSync(file("benchmarks.md"), markdown(runs, allRows));
  writeSection(README, readmeText(runs[0]!));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writePage();

/** `npx tsx bench/peers/write.ts` writes and draws the last run again, from docs/comparison.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fromJson, toJson } from "../results/json.js";
import { comparisonChart } from "./chart.js";
import type { Comparison } from "./comparison.js";
import { comparisonText, PICTURE, readmeBlock, withBlock } from "./text.js";

const file = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** The names of what it has written. */
export function writeComparison(comparison: Comparison): string[] {
  const texts = {
    "docs/comparison.json": toJson(comparison),
    "docs/comparison.md": comparisonText(comparison),
    [`docs/${PICTURE}`]: comparisonChart(comparison),
    "README.md": withBlock(readFileSync(file("README.md"), "utf8"), readmeBlock(comparison)),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(file(name), text);
  return Object.keys(texts);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeComparison(fromJson<Comparison>(readFileSync(file("docs/comparison.json"), "utf8")));
}

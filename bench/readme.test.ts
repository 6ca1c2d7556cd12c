/** README.md says what the newest run in docs/benchmarks.json measured. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withSection } from "../test/support/command/docs-section.js";
import { readmeText } from "./results/readme.js";
import { README, writtenRuns } from "./results/write.js";

const run = writtenRuns()[0]!;

test("README's table is that of the newest run", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  expect(readme).toBe(withSection(readme, README, readmeText(run)));
});

const withRates = (ours: number, theirs: number) =>
  readmeText({ ...run, rows: { "bulk-down-8": { "ours/ours": [{ rate: ours }], "Go/Go": [{ rate: theirs }] } } });

test("README's table is bold where drawbridge is better, and shows the rest as well", () => {
  expect(withRates(500, 200)).toContain("| throughput of 8 downloads at once | **2.50 ×** | 500 MB/s to 200 MB/s |");
  expect(withRates(208, 200)).toContain("| throughput of 8 downloads at once | 1.04 × | 208 MB/s to 200 MB/s |");
  expect(withRates(190, 200)).toContain("| throughput of 8 downloads at once | 0.95 × | 190 MB/s to 200 MB/s |");
});

test("README's table leaves out what the run has not measured", () => {
  expect(
    withRates(500, 200)
      .split("\n")
      .filter((line) => line.startsWith("| ")),
  ).toHaveLength(3);
});

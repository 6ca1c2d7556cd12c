import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { Bundles } from "./runner/bundle.js";
import { runSeeds } from "./runner/run-seeds.js";
import { Thread } from "./runner/thread.js";

const FROM = 101;
const SEEDS = 300;

const bundles = new Bundles(fileURLToPath(new URL("runner/worker.ts", import.meta.url)));
afterAll(() => bundles.remove());

test(`no property is broken in the worlds of ${SEEDS} more seeds (again: npm run sim -- --seed N --trace)`, async () => {
  const threads = [new Thread(await bundles.make())];
  const ranges = [{ from: FROM, count: SEEDS }];
  const tally = await runSeeds({ threads, ranges, keepGoing: true, onProgress: () => true });
  await threads[0]!.end();
  expect(tally.failures).toEqual([]);
  expect(tally.seeds).toBe(SEEDS);
});

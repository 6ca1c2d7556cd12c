import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Mutant } from "../mutants/mutant.js";
import { Bundles } from "./bundle.js";
import { NO_EXCEPTION, SAME_TRACE } from "./play.js";
import { runMutants } from "./run-mutants.js";
import { runSeeds } from "./run-seeds.js";
import { ENDS, Thread } from "./thread.js";

/** Its worlds 13 to 17 fail, each in a way of its own. */
const bundles = new Bundles(fileURLToPath(new URL("../testing/toy-worker.ts", import.meta.url)));
let bundle: string;
const threads: Thread[] = [];

beforeAll(async () => {
  bundle = await bundles.make();
  threads.push(new Thread(bundle, 2_000), new Thread(bundle, 2_000));
});

afterAll(async () => {
  await Promise.all(threads.map((thread) => thread.end()));
  bundles.remove();
});

const run = (from: number, count: number, keepGoing = false) =>
  runSeeds({ threads, ranges: [{ from, count }], keepGoing, onProgress: () => true });

test("seeds that do not fail are counted with their events and their virtual time", async () => {
  const tally = await run(20, 200);
  expect(tally).toEqual({ seeds: 200, events: 1200, virtualMs: 200_000, twice: 12, failures: [] });
});

test.each([
  [13, NO_EXCEPTION],
  [14, ENDS],
  [15, NO_EXCEPTION],
  [16, SAME_TRACE],
  [17, "toys work"],
])("seed %i fails, and says which property does not hold", async (seed, property) => {
  const { failures } = await run(seed, 1);
  expect(failures).toMatchObject([{ seed, property }]);
});

test("a run ends with the first failure, and counts them all where it is to go on", async () => {
  expect((await run(17, 500)).failures).toHaveLength(1);
  const all = await run(1, 100, true);
  expect(all.seeds).toBe(100);
  expect(all.failures.map(({ seed }) => seed).sort()).toEqual([13, 14, 15, 16, 17]);
});

test("a run that has no time left ends", async () => {
  const tally = await runSeeds({
    threads,
    ranges: [{ from: 20, count: 1000 }],
    keepGoing: false,
    onProgress: () => false,
  });
  expect(tally.seeds).toBeLessThanOrEqual(100);
});

test("a failure is told by the least world that fails in the same way", async () => {
  const world = await threads[0]!.ask("seed", { seed: 17, shrunk: true, trace: true });
  expect(world.scenario).toEqual({ seed: 17, parties: [{ name: "party-5", bytes: 127 }], faults: ["stall"] });
  expect(world.trace).toEqual(["seed 17 begins", "fault stall"]);
  expect(world.story).toEqual([
    "name party-5 bytes 127",
    "stall",
    "seed 17 begins",
    "fault stall",
    "12.0 ms: toys work: one does not",
  ]);
});

const broken: Mutant = {
  name: "broken",
  file: "sim/testing/toy-model.ts",
  find: "const isBroken = false",
  replace: "const isBroken = true",
  what: "toys break",
};

const hunt = (mutant: Mutant, seeds: number) =>
  runMutants({ mutants: [mutant], bundles, from: 1, seeds, jobs: 1, onResult: () => {}, goesOn: () => true });

test("a planted bug is found by the first seed that fails with it", async () => {
  expect(await hunt(broken, 100)).toMatchObject([{ seeds: 3, found: { seed: 3, property: "toys work" } }]);
  expect(await hunt(broken, 2)).toMatchObject([{ seeds: 2, found: undefined }]);
});

test("a seed that fails without the planted bug has not found it", async () => {
  const harmless = { ...broken, find: '"jump"', replace: '"leap"' };
  expect(await hunt(harmless, 13)).toMatchObject([{ seeds: 13, found: undefined }]);
});

test.each([
  [{ ...broken, find: "nowhere" }, /fits sim\/testing\/toy-model.ts 0 times/],
  [{ ...broken, find: "seed" }, /fits sim\/testing\/toy-model.ts \d+ times, and has to fit it once/],
  [{ ...broken, file: "sim/options.ts", find: "SEEDS = 10_000" }, /in sim\/options.ts, which no simulated world uses/],
])("a planted bug that does not fit the source fails the run (%#)", async (mutant, sentence) => {
  await expect(hunt(mutant, 1)).rejects.toThrow(sentence);
});

/** Seeds that have found something, each with what it was. As scenarios change, a seed may lose its meaning: then its unit test is what is left. */
import { expect, test } from "vitest";
import { runScenario } from "./run.js";
import { scenarioOf } from "./scenario.js";

const FOUND: readonly (readonly [seed: number, what: string])[] = [
  [587, "an agent answered the watchdog with the number of a caller's tunnel, which then never ended"],
  [1918, "all that a paused link had received was handed on at once, far beyond a tunnel's bound"],
  [900639, "the same again, once received bytes were settled at the end of a whole turn of the loop"],
  [3134, "a drained server closed a gRPC caller's connection while the end of an answer was still on its way"],
];

test.each(FOUND)("seed %i: %s", async (seed) => {
  expect((await runScenario(scenarioOf(seed))).failure).toBeUndefined();
});

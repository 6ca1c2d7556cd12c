/** Our merge of parent and child beside that of the real module: result, and whether the result is valid. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { arbitraryConfig } from "./arbitrary.js";
import { textOf } from "./corpus/rule.js";
import { ask, meaningful } from "./judge.js";
import { type Made, mergedByUs } from "./ours.js";
import { pairs } from "./pairs.js";

const judge = requirePeer("ignition-judge");
const SEED = 20_26_11;
const RUNS = 400;

describe.skipIf(judge === undefined)("the real Ignition module merges as we do", () => {
  const compared = async (questions: readonly { parent: string; child: string }[]) => {
    const theirs = (await ask(judge!, questions)).map(({ ok, config }): Made => {
      return { ok, ...(config !== undefined && { config: meaningful(config) }) };
    });
    for (const [index, question] of questions.entries())
      expect(mergedByUs(question), `${question.parent} < ${question.child}`).toEqual(theirs[index]);
    return theirs;
  };

  test("each pair of the list, both written in 3.5, and the older over and under the newer", async () => {
    const questions = pairs.flatMap(({ parent, child }) =>
      [
        [5, 5],
        [3, 5],
        [5, 3],
        [2, 2],
        [1, 4],
        [0, 0],
      ].map(([above = 5, below = 5]) => ({
        parent: textOf(parent as never, above),
        child: textOf(child as never, below),
      })),
    );
    const answers = await compared(questions);
    expect(answers.filter(({ ok }) => ok).length).toBeGreaterThan(pairs.length * 4);
    expect(answers.some(({ ok, config }) => !ok && config !== undefined)).toBe(true);
  });

  test(`${RUNS} pairs made by chance`, async () => {
    const sample = fc.sample(fc.tuple(arbitraryConfig, arbitraryConfig), { seed: SEED, numRuns: RUNS });
    const answers = await compared(sample.map(([parent, child]) => ({ parent, child })));
    expect(answers.filter(({ config }) => config !== undefined).length).toBeGreaterThan(RUNS / 2);
  });
});

/** Configs that refer to configs, put together by us and by the real module's parts. */
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { ask, meaningful } from "./judge.js";
import { renderedByUs } from "./ours.js";
import { referring as cases } from "./references.js";

const judge = requirePeer("ignition-judge");

describe.skipIf(judge === undefined)("the real Ignition module", () => {
  test("makes the same of configs that refer to configs", async () => {
    const answers = await ask(
      judge!,
      cases.map(([, text]) => ({ render: text })),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(10);
    for (const [index, [about, text]] of cases.entries()) {
      const { ok, config: rendered } = answers[index]!;
      expect(await renderedByUs(text), about).toEqual(ok ? { ok, config: meaningful(rendered) } : { ok });
    }
  });
});

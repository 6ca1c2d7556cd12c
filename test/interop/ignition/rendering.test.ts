/** Configs that refer to configs, put together by us and by the real module's parts. */
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { DrawbridgeError } from "../../../src/errors/error.js";
import { inlineContent } from "../../../src/ignition/data/resource.js";
import { requireConfig } from "../../../src/ignition/parse.js";
import { render } from "../../../src/ignition/render.js";
import { ask, meaningful } from "./judge.js";
import { referring as cases } from "./references.js";

const judge = requirePeer("ignition-judge");

async function ours(text: string): Promise<{ ok: boolean; config?: unknown }> {
  try {
    const rendered = await render(requireConfig(text, "it"), (resource, _, what) => inlineContent(resource, what));
    return { ok: true, config: meaningful(rendered) };
  } catch (error) {
    if (error instanceof DrawbridgeError) return { ok: false };
    throw error;
  }
}

describe.skipIf(judge === undefined)("the real Ignition module", () => {
  test("makes the same of configs that refer to configs", async () => {
    const answers = await ask(
      judge!,
      cases.map(([, text]) => ({ render: text })),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(10);
    for (const [index, [about, text]] of cases.entries()) {
      const { ok, config: rendered } = answers[index]!;
      expect(await ours(text), about).toEqual(ok ? { ok, config: meaningful(rendered) } : { ok });
    }
  });
});

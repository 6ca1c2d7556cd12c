/** Item 16 of the list in src/cluster/nodes/conformance.test.ts: what merging must get right, by the verdict of Ignition's own module. */
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { textOf } from "./corpus/rule.js";
import { ask, meaningful } from "./judge.js";
import { mergedByUs, renderedByUs } from "./ours.js";
import { pairs } from "./pairs.js";
import { referring } from "./references.js";

const judge = requirePeer("ignition-judge");

/** Some of the lists that the other files here go through whole. */
const merges = ["a file that becomes a link", "headers that go, change and come", "more authorities", "a replacement"];
const references: readonly (readonly [about: string, ok: boolean])[] = [
  ["a replacement beside children", true],
  ["children of children of several versions", true],
  ["gzip with the hash of what is packed", true],
  ["gzip with the hash of the packing", false],
  ["another's hash", false],
];

describe.skipIf(judge === undefined)("the conformance list", () => {
  test("16 merges and references give what Ignition's own module makes of them", async () => {
    const pairsToMerge = merges.map((about) => {
      const { child, parent } = pairs.find((pair) => pair.about === about)!;
      return { parent: textOf({ ...parent }, 5), child: textOf({ ...child }, 5) };
    });
    for (const [index, { config, ok }] of (await ask(judge!, pairsToMerge)).entries()) {
      expect(ok, merges[index]).toBe(true);
      expect(mergedByUs(pairsToMerge[index]!), merges[index]).toEqual({ ok, config: meaningful(config) });
    }
    const texts = references.map(([about]) => referring.find(([name]) => name === about)![1]);
    const answers = await ask(
      judge!,
      texts.map((render) => ({ render })),
    );
    for (const [index, { config, ok }] of answers.entries()) {
      const [about, expected] = references[index]!;
      expect(ok, about).toBe(expected);
      expect(await renderedByUs(texts[index]!), about).toEqual(ok ? { ok, config: meaningful(config) } : { ok });
    }
  });
});

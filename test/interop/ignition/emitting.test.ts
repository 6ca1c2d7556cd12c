/** What we write is read by the real module as what was meant. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { DrawbridgeError } from "../../../src/base/errors/error.js";
import { type Config, type Minor, minors } from "../../../src/cluster/ignition/config.js";
import { readConfig } from "../../../src/cluster/ignition/parse.js";
import { emit } from "../../../src/cluster/ignition/render.js";
import { arbitraryConfig } from "./arbitrary.js";
import { ask, meaningful } from "./judge.js";

const judge = requirePeer("ignition-judge");
const RUNS = 200;

function written(config: Config, minor: Minor): string[] {
  try {
    return [JSON.stringify(emit(config, minor))];
  } catch (error) {
    if (error instanceof DrawbridgeError && error.code === "DB_IGNITION_EXPRESS") return [];
    throw error;
  }
}

describe.skipIf(judge === undefined)("the real Ignition module", () => {
  test("reads every spec version that we write, and finds in it what we read", async () => {
    const cases = fc.sample(arbitraryConfig, { seed: 7, numRuns: RUNS }).flatMap((text) => {
      const reading = readConfig(text);
      if (!reading.ok) return [];
      return minors.slice(2).flatMap((minor) => {
        return written(reading.config, minor).map((config) => ({ meant: reading.config, config }));
      });
    });
    expect(cases.length).toBeGreaterThan(RUNS);
    const answers = await ask(
      judge!,
      cases.map(({ config }) => ({ config })),
    );
    for (const [index, { meant, config }] of cases.entries()) {
      expect(answers[index], config).toMatchObject({ ok: true });
      expect(meaningful(answers[index]!.config), config).toEqual(meaningful(meant));
    }
  });
});

/** Our verdict on every config of the corpus, in every spec version, beside that of the real module. */
import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { DrawbridgeError } from "../../../src/base/errors/error.js";
import { inject } from "../../../src/cluster/bootstrap/inject/inject.js";
import { readConfig } from "../../../src/cluster/ignition/parse.js";
import { bootstrapIgnition } from "../../support/ignition-fixtures/ignition.js";
import { shapes } from "../../support/ignition-fixtures/releases.js";
import { rules } from "./corpus/index.js";
import { DECLARED_MINOR, textOf } from "./corpus/rule.js";
import { type Answer, ask, meaningful } from "./judge.js";

const judge = requirePeer("ignition-judge");
const program = requirePeer("ignition-validate");
const minors = [0, 1, 2, 3, 4, 5];
const texts = rules.flatMap(({ accept, reject }) =>
  [...accept, ...reject].flatMap((body) =>
    typeof body === "string" ? [body] : minors.map((minor) => textOf(body, minor)),
  ),
);

interface Verdict {
  readonly ok: boolean;
  readonly config?: unknown;
  /** Where errors are found. */
  readonly places: readonly string[];
}

const sorted = (places: readonly string[]): string[] => [...new Set(places)].sort();

function ours(text: string): Verdict {
  try {
    const reading = readConfig(text);
    const errors = reading.findings.filter(({ severity }) => severity === "error");
    const places = sorted(errors.map(({ path }) => path.join(".")));
    return { ok: reading.ok, places, ...(reading.ok && { config: meaningful(reading.config) }) };
  } catch (error) {
    if (error instanceof DrawbridgeError && error.code === "DB_IGNITION_CONFIG") return { ok: false, places: [] };
    throw error;
  }
}

describe.skipIf(judge === undefined)("the real Ignition module", () => {
  let answers: Map<string, Answer>;
  beforeAll(async () => {
    const unique = [...new Set(texts)];
    const list = await ask(
      judge!,
      unique.map((config) => ({ config })),
    );
    answers = new Map(unique.map((text, index) => [text, list[index]!]));
  });

  test("comes to our verdict on every config, in every spec version", () => {
    expect(answers.size).toBeGreaterThan(2000);
    const differing = [...answers].filter(([text, answer]) => ours(text).ok !== answer.ok);
    expect(differing.map(([text, { ok, error, report }]) => ({ text, theirs: ok, error, report }))).toEqual([]);
  });

  test("draws the line of each rule where the corpus says it is", () => {
    const misplaced = rules.flatMap(({ rule, accept, reject }) => [
      ...accept.filter((body) => !answers.get(textOf(body, DECLARED_MINOR))!.ok).map((body) => [rule, "accept", body]),
      ...reject.filter((body) => answers.get(textOf(body, DECLARED_MINOR))!.ok).map((body) => [rule, "reject", body]),
    ]);
    expect(misplaced).toEqual([]);
  });

  test("finds the errors in the same places", () => {
    // It stops at the first wrong type, without a place.
    const placed = [...answers].filter(
      ([, { report }]) => report.length > 0 && report.every(({ path }) => path !== ""),
    );
    expect(placed.length).toBeGreaterThan(1000);
    for (const [text, { report }] of placed) {
      const errors = report.filter(({ kind }) => kind === "error");
      expect(ours(text).places, text).toEqual(sorted(errors.map(({ path }) => path)).filter(isSaidOnce));
    }
  });

  test("reads the same config out of the same text, translated to spec 3.5", () => {
    const valid = [...answers].filter(([text, { ok }]) => ok && !losesAdvertisement(text) && !keepsSpelling(text));
    expect(valid.length).toBeGreaterThan(800);
    for (const [text, { config }] of valid) expect(ours(text).config, text).toEqual(meaningful(config));
  });
});

describe.skipIf(program === undefined)("the real ignition-validate", () => {
  test.each([
    ["accepts", textOf({ storage: { files: [{ path: "/a" }] } }, 2), 0],
    ["refuses", textOf({ storage: { files: [{ path: "a" }] } }, 2), 1],
  ])("%s what the module does", (_, text, status) => {
    expect(spawnSync(program!, ["-"], { input: text }).status).toBe(status);
    expect(ours(text).ok).toBe(status === 0);
  });

  test.each(["4.11", "4.18", "4.23 off"] as const)("accepts a bootstrap.ign of %s with a bridge in it", (release) => {
    const { text } = inject(bootstrapIgnition(shapes[release], {}), {});
    expect(text).toContain("/etc/systemd/system/konnectivity-cleanup.service");
    const { status, stdout, stderr } = spawnSync(program!, ["-"], { input: text, encoding: "utf8" });
    // The installer's file has a key that nobody knows, which is worth a warning.
    const complaints = `${stdout}${stderr}`.split("\n").filter((line) => line !== "" && !line.includes("x-unknown"));
    expect({ status, complaints }).toEqual({ status: 0, complaints: [] });
  });
});

/** Translating 3.4 to 3.5, the module drops the advertisements of Tang servers, which it should not. */
const losesAdvertisement = (text: string): boolean => text.includes('"3.4.0"') && text.includes('"advertisement"');

/** A version with leading zeros is accepted as the same and kept as it is written. */
const keepsSpelling = (text: string): boolean => text.includes('"03.');

/** A wrong source is also held against what it belongs to, which for a volume's key it calls keys. */
function isSaidOnce(place: string, _: number, places: readonly string[]): boolean {
  const part = place.replace(/(luks\.\d+\.)keys$/, "$1keyFile");
  return !places.includes(`${part}.source`);
}

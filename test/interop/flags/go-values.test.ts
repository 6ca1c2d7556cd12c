/** Durations, numbers and CSV: thousands of random texts, read by Go itself and by us. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { parseBool, parseDuration, parseInteger, parseList } from "../../../src/cli/flags/go-values.js";

type Answers = Readonly<Record<"duration" | "integer" | "boolean" | "csv", string>>;

const texts = fc.sample(
  fc.oneof(
    // Beyond Latin-1 the two runtimes' Unicode tables need not be of the same year.
    fc.string({ unit: fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCodePoint(code)) }),
    fc.stringMatching(/^[-+0-9.hmsnuµ x]{0,12}$/),
    fc.stringMatching(/^[-+]?([0-9]{1,8}(\.[0-9]{1,22})?(h|m|s|ms|us|µs|ns)){1,3}$/),
    fc.stringMatching(/^[0-9]{17,20}(ns|us)$/),
    fc.stringMatching(/^[-+]?0?[xXbBoO_]?[0-9a-fA-F_]{0,15}$/),
    fc.stringMatching(/^[a,"\n\ré]{1,10}$/),
    fc.constantFrom("true", "T", "f", "1", "0", "yes"),
  ),
  20_000,
);

const hasGo = spawnSync("go", ["version"]).status === 0;
if (!hasGo && process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error("Go is missing: install Go 1.21 or newer.");

describe.skipIf(!hasGo)("as Go reads them", () => {
  let go: Answers[] = [];

  beforeAll(() => {
    const program = fileURLToPath(new URL("go-values.go", import.meta.url));
    const { stdout, stderr } = spawnSync("go", ["run", program], {
      input: texts.map((text) => `${JSON.stringify(text)}\n`).join(""),
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    expect(stderr).toBe("");
    go = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Answers);
    expect(go).toHaveLength(texts.length);
    // Where nothing is in Go's cache yet, all that the program imports is compiled first.
  }, 300_000);

  test("durations", () => {
    // Beyond 18 years whole milliseconds of nanoseconds are not exact any more.
    const isExact = (text: string): boolean => !/[0-9]{5}(?:\.[0-9]*)?[hm]|[0-9]{12}/.test(text);
    expectSame("duration", (text) => String(parseDuration(text)), isExact);
  });
  test("booleans", () => {
    expectSame("boolean", (text) => String(parseBool(text)));
  });
  test("CSV records", () => {
    expectSame(
      "csv",
      (text) => JSON.stringify(parseList(text)),
      // Flags are one line.
      (text) => text !== "" && !/[\r\n]/.test(text),
    );
  });
  test("integers a JavaScript number can hold", () => {
    const short = (text: string): boolean => text.replace(/^[-+]?0?[xXbBoO]?/, "").length <= 13;
    expectSame("integer", (text) => String(parseInteger(text)), short);
  });

  function expectSame(kind: keyof Answers, read: (text: string) => string, concerns = (_text: string) => true): void {
    const differences = texts.flatMap((text, index) => {
      const [theirs, ours] = [comparable(kind, go[index]?.[kind]), answer(read, text)];
      return concerns(text) && theirs !== ours ? [{ text, theirs, ours }] : [];
    });
    expect(differences.slice(0, 5)).toEqual([]);
  }
});

function answer(read: (text: string) => string, text: string): string {
  try {
    return read(text);
  } catch {
    return "error";
  }
}

/** Durations in whole milliseconds, and JSON without Go's escapes of <, > and &; error texts are compared in refusals.test.ts. */
function comparable(kind: keyof Answers, text = ""): string {
  if (text.startsWith("error: ")) return "error";
  if (kind === "duration") return String(parseDuration(text));
  return kind === "csv" ? JSON.stringify(JSON.parse(text)) : text;
}

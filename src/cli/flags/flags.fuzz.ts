import fc from "fast-check";
import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { duration, float, list, number, text, yesNo } from "./flag.js";
import { formatDuration, parseDuration } from "./go-values.js";
import { parseFlags } from "./parse.js";

const numRuns = 1_000_000;

test("a million texts as durations", () => {
  const texts = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[-+0-9.hmsnuµ]{0,16}$/));
  fc.assert(
    fc.property(texts, (input) => {
      let value: number;
      try {
        value = parseDuration(input);
      } catch (error) {
        expect((error as Error).message).toMatch(/^time: /);
        return;
      }
      // Beyond 18 years whole milliseconds of nanoseconds are not exact any more.
      if (Math.abs(value) < 18 * 365 * 86_400_000) expect(parseDuration(formatDuration(value))).toBe(value);
    }),
    { numRuns },
  );
});

test("a million command lines", () => {
  const flags = {
    text: text(""),
    number: number(0, ""),
    list: list(""),
    wait: duration("0s", ""),
    rate: float(0, ""),
    yes: yesNo(""),
    v: { ...number(4, ""), shorthand: "v" },
  };
  const start = fc.constantFrom("--text=", "--number=", "--list=", "--wait=", "--rate=", "--yes=", "-v", "--", "-", "");
  const word = fc.tuple(start, fc.string({ unit: "binary", maxLength: 12 })).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), (argv) => {
      try {
        expect(Number.isInteger(parseFlags(flags, argv).values.number)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
    }),
    { numRuns },
  );
});

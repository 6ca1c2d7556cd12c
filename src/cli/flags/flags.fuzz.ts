import fc from "fast-check";
import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { duration, float, list, number, text, yesNo } from "./flag.js";
import { formatGoDuration, parseGoDuration } from "./go-duration.js";
import { parseFlags } from "./parse.js";

const numRuns = 1_000_000;

test("a million texts as durations", () => {
  const texts = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[-+0-9.hmsnuµ]{0,16}$/));
  fc.assert(
    fc.property(texts, (input) => {
      let value: bigint;
      try {
        value = parseGoDuration(input);
      } catch (error) {
        expect((error as Error).message).toMatch(/^time: /);
        return;
      }
      expect(parseGoDuration(formatGoDuration(value))).toBe(value);
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

import fc from "fast-check";
import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { FlagSet } from "./flag-set.js";
import { boolean, duration, float32, integer, string, stringSlice } from "./flag-value.js";
import { formatGoDuration, parseGoDuration } from "./go-duration.js";

const numRuns = 1_000_000;

test("a million texts as durations", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[-+0-9.hmsnuµ]{0,16}$/));
  fc.assert(
    fc.property(text, (input) => {
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
  const start = fc.constantFrom("--text=", "--number=", "--list=", "--wait=", "--rate=", "--yes=", "-v", "--", "-", "");
  const word = fc.tuple(start, fc.string({ unit: "binary", maxLength: 12 })).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), (argv) => {
      const set = new FlagSet();
      set.add("text", string, "", "");
      const number = set.add("number", integer, 0, "");
      set.add("list", stringSlice, [], "");
      set.add("wait", duration, 0n, "");
      set.add("rate", float32, 0, "");
      set.add("yes", boolean, false, "");
      set.add("v", integer, 4, "", { shorthand: "v" });
      try {
        set.parse(argv);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
      expect(Number.isInteger(number.value)).toBe(true);
    }),
    { numRuns },
  );
});

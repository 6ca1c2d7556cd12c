import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatGoDuration, parseGoDuration } from "./go-duration.js";

const int64 = fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n });

describe("parse", () => {
  test.each([
    ["0", 0n],
    ["-0", 0n],
    ["+0", 0n],
    ["0s", 0n],
    ["100ms", 100_000_000n],
    ["1h0m0s", 3_600_000_000_000n],
    ["1m30s", 90_000_000_000n],
    ["1.5h", 5_400_000_000_000n],
    [".5s", 500_000_000n],
    ["5.s", 5_000_000_000n],
    ["-2m", -120_000_000_000n],
    ["+5s", 5_000_000_000n],
    ["3us", 3_000n],
    ["3\u00b5s", 3_000n],
    ["3\u03bcs", 3_000n],
    ["30s1h", 3_630_000_000_000n],
    ["0.1ns", 0n],
    ["0.3333333333333333333h", 1_200_000_000_000n],
    ["9223372036854775807ns", 9_223_372_036_854_775_807n],
    ["-9223372036854775808ns", -9_223_372_036_854_775_808n],
    ["0.9223372036854775807h", 3_320_413_933_267n],
    ["000000000000000000000000001s", 1_000_000_000n],
  ])("%s", (text, nanoseconds) => {
    expect(parseGoDuration(text)).toBe(nanoseconds);
  });

  test.each([
    ["", 'time: invalid duration ""'],
    ["abc", 'time: invalid duration "abc"'],
    ["-", 'time: invalid duration "-"'],
    [".", 'time: invalid duration "."'],
    [".s", 'time: invalid duration ".s"'],
    ["+-5s", 'time: invalid duration "+-5s"'],
    [" 1s", 'time: invalid duration " 1s"'],
    ["10", 'time: missing unit in duration "10"'],
    ["1h5", 'time: missing unit in duration "1h5"'],
    ["1x", 'time: unknown unit "x" in duration "1x"'],
    ["1s ", 'time: unknown unit "s " in duration "1s "'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["1toString", 'time: unknown unit "toString" in duration "1toString"'],
    ['1"', 'time: unknown unit "\\"" in duration "1\\""'],
    ["1é", 'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"'],
    ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
    ["-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'],
    ["3000000h", 'time: invalid duration "3000000h"'],
  ])("refuses %j as Go does", (text, message) => {
    expect(() => parseGoDuration(text)).toThrow(new Error(message));
  });

  test("arbitrary text: a 64-bit number or one of Go's three complaints", () => {
    const durationLike = fc.stringMatching(/^[-+0-9.hmsnuµ x]{0,12}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), durationLike), (text) => {
        try {
          const value = parseGoDuration(text);
          expect(BigInt.asIntN(64, value)).toBe(value);
        } catch (error) {
          expect((error as Error).message).toMatch(/^time: (invalid duration|missing unit in|unknown unit)/);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("format", () => {
  test.each([
    [0n, "0s"],
    [1n, "1ns"],
    [1_100n, "1.1\u00b5s"],
    [2_200_000n, "2.2ms"],
    [3_300_000_000n, "3.3s"],
    [245_000_000_000n, "4m5s"],
    [245_001_000_000n, "4m5.001s"],
    [18_367_001_000_000n, "5h6m7.001s"],
    [480_000_000_001n, "8m0.000000001s"],
    [3_600_000_000_000n, "1h0m0s"],
    [-1_000_000_000n, "-1s"],
    [(1n << 63n) - 1n, "2562047h47m16.854775807s"],
    [-(1n << 63n), "-2562047h47m16.854775808s"],
  ])("%s ns is %s", (nanoseconds, text) => {
    expect(formatGoDuration(nanoseconds)).toBe(text);
  });

  test("what is written is read back unchanged", () => {
    fc.assert(
      fc.property(int64, (value) => {
        expect(parseGoDuration(formatGoDuration(value))).toBe(value);
      }),
    );
  });
});

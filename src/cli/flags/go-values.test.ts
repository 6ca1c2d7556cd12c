import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseBool, parseDecimal, parseDuration, parseInteger, parseList } from "./go-values.js";

test.each([
  ["1", true],
  ["t", true],
  ["True", true],
  ["0", false],
  ["F", false],
  ["false", false],
])("the boolean %s", (text, value) => {
  expect(parseBool(text)).toBe(value);
});

test.each(["", "yes", "tRUE", " true", "constructor"])("the boolean %j is refused", (text) => {
  expect(() => parseBool(text)).toThrow(`strconv.ParseBool: parsing "${text}": invalid syntax`);
});

test.each([
  ["8090", 8090],
  ["+5", 5],
  ["-7", -7],
  ["0", 0],
  ["0x1F", 31],
  ["-0X1f", -31],
  ["0b11", 3],
  ["0o17", 15],
  ["017", 15],
  ["0_7", 7],
  ["0x_1", 1],
  ["1_000", 1000],
])("the integer %s", (text, value) => {
  expect(parseInteger(text)).toBe(value);
});

test.each(["", "-", "abc", "08", "_1", "1_", "1__0", "0x", " 1", "1.5", "1e3", "\u0661"])(
  "the integer %j is refused",
  (text) => {
    expect(() => parseInteger(text)).toThrow("invalid syntax");
  },
);

test("an integer that a number cannot hold exactly is out of range", () => {
  const text = "9223372036854775808";
  expect(() => parseInteger(text)).toThrow(`strconv.ParseInt: parsing "${text}": value out of range`);
});

test("every 32-bit integer is read back in every base Go writes", () => {
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(2, 8, 10, 16), (value, base) => {
      const prefix = { 2: "0b", 8: "0o", 10: "", 16: "0x" }[base];
      const text = `${value < 0 ? "-" : ""}${prefix}${Math.abs(value).toString(base)}`;
      expect(parseInteger(text)).toBe(value);
    }),
  );
});

test.each([
  ["0", 0],
  [".5", 0.5],
  ["5.", 5],
  ["-2.5e1", -25],
])("the float %s", (text, value) => {
  expect(parseDecimal(text)).toBe(value);
});

test.each(["abc", "", "1e"])("the float %j is refused", (text) => {
  expect(() => parseDecimal(text)).toThrow(`strconv.ParseFloat: parsing "${text}": invalid syntax`);
});

test.each<[string, string[]]>([
  ["", []],
  ["a", ["a"]],
  ["a,b", ["a", "b"]],
  [",", ["", ""]],
  ["a,", ["a", ""]],
  ['"a,b",c', ["a,b", "c"]],
  ['"a""b"', ['a"b']],
  [" a , b ", [" a ", " b "]],
])("the list %j", (text, fields) => {
  expect(parseList(text)).toEqual(fields);
});

test.each(['a"b', 'é,a"', '"ab', '"a"b'])("the list %j is refused", (text) => {
  expect(() => parseList(text)).toThrow('parse error: bare, extraneous or missing " in a field');
});

test.each([
  ["0", 0],
  ["-0", 0],
  ["+0", 0],
  ["0s", 0],
  ["-0s", 0],
  ["100ms", 100],
  ["1h0m0s", 3_600_000],
  ["1m30s", 90_000],
  ["1.5h", 5_400_000],
  ["0.07h", 252_000],
  ["1.000001ms", 2],
  ["4551.1h", 16_383_960_000],
  [".5s", 500],
  ["5.s", 5_000],
  ["-2m", -120_000],
  ["+5s", 5_000],
  ["1.005s", 1_005],
  ["3us", 1],
  ["3\u00b5s", 1],
  ["-3\u03bcs", -1],
  ["30s1h", 3_630_000],
  ["0.1ns", 0],
  ["0.3333333333333333333h", 1_200_000],
  ["000000000000000000000000001s", 1_000],
])("the duration %s is %i ms", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each([
  ...["", "abc", "-", ".", ".s", "+-5s", " 1s", "9223372036854775808ns", "3000000h"].map((text) => [
    text,
    `time: invalid duration "${text}"`,
  ]),
  ["10", 'time: missing unit in duration "10"'],
  ["1h5", 'time: missing unit in duration "1h5"'],
  ["1x", 'time: unknown unit "x" in duration "1x"'],
  ["1s ", 'time: unknown unit "s " in duration "1s "'],
  ["1toString", 'time: unknown unit "toString" in duration "1toString"'],
  ['1"', 'time: unknown unit "\\"" in duration "1\\""'],
])("the duration %j is refused as Go does", (text, message) => {
  expect(() => parseDuration(text!)).toThrow(new Error(message));
});

test.each([
  [0, "0s"],
  [2, "2ms"],
  [3_300, "3.3s"],
  [245_000, "4m5s"],
  [245_001, "4m5.001s"],
  [18_367_001, "5h6m7.001s"],
  [3_600_000, "1h0m0s"],
  [-1_500, "-1.5s"],
])("%i ms is written as %s", (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test("durations that are written are read back unchanged", () => {
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 39), max: 2 ** 39 }), (value) => {
      expect(parseDuration(formatDuration(value))).toBe(value);
    }),
  );
});

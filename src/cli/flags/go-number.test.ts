import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBool, parseFloat32, parseInteger, parseUnsigned64 } from "./go-number.js";

test.each([
  ["1", true],
  ["t", true],
  ["T", true],
  ["true", true],
  ["TRUE", true],
  ["True", true],
  ["0", false],
  ["f", false],
  ["F", false],
  ["false", false],
  ["FALSE", false],
  ["False", false],
])("boolean %s", (text, value) => {
  expect(parseBool(text)).toBe(value);
});

test.each(["", "yes", "tRUE", " true", "constructor"])("boolean %j is refused", (text) => {
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
])("integer %s", (text, value) => {
  expect(parseInteger(text, 0, 64)).toBe(value);
});

test.each(["", "-", "abc", "08", "_1", "1_", "1__0", "0x", " 1", "1.5", "1e3", "\u0661"])(
  "integer %j is refused",
  (text) => {
    expect(() => parseInteger(text, 0, 64)).toThrow("invalid syntax");
  },
);

test("integers beyond their bits are out of range", () => {
  const text = "9223372036854775808";
  expect(() => parseInteger(text, 0, 64)).toThrow(`strconv.ParseInt: parsing "${text}": value out of range`);
  expect(parseInteger("-9223372036854775808", 0, 64)).toBe(-(2 ** 63));
  expect(() => parseInteger("2147483648", 10, 32)).toThrow("value out of range");
  expect(() => parseUnsigned64("18446744073709551616")).toThrow("value out of range");
  expect(() => parseUnsigned64("-1")).toThrow("invalid syntax");
});

test("base 10 takes no prefix and no underscore", () => {
  expect(parseInteger("010", 10, 32)).toBe(10);
  expect(() => parseInteger("0x10", 10, 32)).toThrow("invalid syntax");
  expect(() => parseInteger("1_0", 10, 32)).toThrow("invalid syntax");
});

test.each([
  ["0", 0],
  [".5", 0.5],
  ["5.", 5],
  ["-2.5e1", -25],
  ["1_000.5", 1000.5],
  ["0.1", Math.fround(0.1)],
  ["-inf", -Infinity],
  ["+Infinity", Infinity],
])("float %s", (text, value) => {
  expect(parseFloat32(text)).toBe(value);
});

test.each([
  ["abc", 'strconv.ParseFloat: parsing "abc": invalid syntax'],
  ["", 'strconv.ParseFloat: parsing "": invalid syntax'],
  ["1e", 'strconv.ParseFloat: parsing "1e": invalid syntax'],
  ["3.5e38", 'strconv.ParseFloat: parsing "3.5e38": value out of range'],
])("float %j is refused", (text, message) => {
  expect(() => parseFloat32(text)).toThrow(message);
});

test("every 32-bit integer is read back in every base Go writes", () => {
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(2, 8, 10, 16), (value, base) => {
      const prefix = { 2: "0b", 8: "0o", 10: "", 16: "0x" }[base];
      const text = `${value < 0 ? "-" : ""}${prefix}${Math.abs(value).toString(base)}`;
      expect(parseInteger(text, 0, 64)).toBe(value);
    }),
  );
});

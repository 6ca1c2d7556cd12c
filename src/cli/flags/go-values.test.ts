import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBool, parseFloat32, parseInteger, parseList, quote, quoteShorthand } from "./go-values.js";

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
  expect(parseInteger(text, 0, 64)).toBe(value);
});

test.each(["", "-", "abc", "08", "_1", "1_", "1__0", "0x", " 1", "1.5", "1e3", "\u0661"])(
  "the integer %j is refused",
  (text) => {
    expect(() => parseInteger(text, 0, 64)).toThrow("invalid syntax");
  },
);

test("integers beyond their bits are out of range", () => {
  const text = "9223372036854775808";
  expect(() => parseInteger(text, 0, 64)).toThrow(`strconv.ParseInt: parsing "${text}": value out of range`);
  expect(parseInteger("-9223372036854775808", 0, 64)).toBe(-(2 ** 63));
  expect(() => parseInteger("2147483648", 10, 32)).toThrow("value out of range");
});

test("base 10 takes no prefix and no underscore", () => {
  expect(parseInteger("010", 10, 32)).toBe(10);
  expect(() => parseInteger("0x10", 10, 32)).toThrow("invalid syntax");
  expect(() => parseInteger("1_0", 10, 32)).toThrow("invalid syntax");
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

test.each([
  ["0", 0],
  [".5", 0.5],
  ["5.", 5],
  ["-2.5e1", -25],
  ["0.1", Math.fround(0.1)],
])("the float %s", (text, value) => {
  expect(parseFloat32(text)).toBe(value);
});

test.each([
  ["abc", "invalid syntax"],
  ["", "invalid syntax"],
  ["1e", "invalid syntax"],
  ["3.5e38", "value out of range"],
])("the float %j is refused", (text, fault) => {
  expect(() => parseFloat32(text)).toThrow(`strconv.ParseFloat: parsing "${text}": ${fault}`);
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

test.each([
  ['a"b', 'parse error on line 1, column 2: bare " in non-quoted-field'],
  ['é,a"', 'parse error on line 1, column 5: bare " in non-quoted-field'],
  ['"ab', 'parse error on line 1, column 4: extraneous or missing " in quoted-field'],
  ['"a"b', 'parse error on line 1, column 3: extraneous or missing " in quoted-field'],
])("the list %j is refused as Go does", (text, message) => {
  expect(() => parseList(text)).toThrow(new Error(message));
});

test("text is quoted as Go quotes it", () => {
  expect(quote('a"b\n\u0001é\u200b')).toBe('"a\\"b\\n\\x01é\\u200b"');
  expect([quoteShorthand("v"), quoteShorthand("'")]).toEqual(["'v'", "'\\''"]);
});

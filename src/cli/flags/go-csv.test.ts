import fc from "fast-check";
import { expect, test } from "vitest";
import { readCsvRecord } from "./go-csv.js";

test.each<[string, string[]]>([
  ["", []],
  ["a", ["a"]],
  ["a,b", ["a", "b"]],
  [",", ["", ""]],
  ["a,", ["a", ""]],
  ['"a,b",c', ["a,b", "c"]],
  ['"a""b"', ['a"b']],
  [" a , b ", [" a ", " b "]],
  ["\n\na,b\nignored", ["a", "b"]],
  ['"two\nlines"', ["two\nlines"]],
  ["a\r\n", ["a"]],
])("%j", (text, fields) => {
  expect(readCsvRecord(text)).toEqual(fields);
});

test.each([
  ['a"b', 'parse error on line 1, column 2: bare " in non-quoted-field'],
  ['é,a"', 'parse error on line 1, column 5: bare " in non-quoted-field'],
  ['"ab', 'parse error on line 1, column 4: extraneous or missing " in quoted-field'],
  ['"a"b', 'parse error on line 1, column 3: extraneous or missing " in quoted-field'],
  ['"a\nb', 'record on line 1; parse error on line 2, column 2: extraneous or missing " in quoted-field'],
  ['"a\n', 'parse error on line 1, column 4: extraneous or missing " in quoted-field'],
  ["\n", "EOF"],
])("%j is refused as Go does", (text, message) => {
  expect(() => readCsvRecord(text)).toThrow(new Error(message));
});

test("what is quoted as CSV is read back", () => {
  const field = fc.string({ unit: "binary" }).filter((text) => !text.includes("\r"));
  fc.assert(
    fc.property(fc.array(field, { minLength: 1 }), (fields) => {
      const record = fields.map((text) => `"${text.replaceAll('"', '""')}"`).join(",");
      expect(readCsvRecord(record)).toEqual(fields);
    }),
  );
});

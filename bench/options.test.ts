import { expect, test } from "vitest";
import { parseOptions } from "./options.js";
import { allRows, chooseRows } from "./rows/index.js";

test("the defaults are the whole table", () => {
  expect(parseOptions([])).toEqual({ rows: [], rounds: 4, seconds: 2, smoke: false, output: "text", write: false });
  expect(chooseRows([])).toBe(allRows);
});

test.each([
  [["--rounds=0"], /--rounds must be a whole number above 0/],
  [["--rounds=1.5"], /--rounds must be a whole number/],
  [["--seconds=soon"], /--seconds must be a number above 0/],
  [["--output=xml"], /--output must be text or json/],
  [["--row=bulk"], /--row/],
])("%j is refused with a sentence", (argv, sentence) => {
  expect(() => parseOptions(argv)).toThrow(sentence);
});

test("rows are chosen by name before they are chosen by beginning", () => {
  const names = (...chosen: string[]) => chooseRows(chosen).map((row) => row.name);
  expect(names("bulk")).toEqual(["bulk-down-1", "bulk-up-1", "bulk-down-8", "bulk-up-8"]);
  expect(names("scale-agents-1")).toEqual(["scale-agents-1"]);
  expect(() => names("bulky")).toThrow(/no row called bulky/);
});

test("no two rows have the same name", () => {
  expect(new Set(allRows.map((row) => row.name)).size).toBe(allRows.length);
});

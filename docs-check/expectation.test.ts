import { expect, test } from "vitest";
import { isPrinted } from "./expectation.js";

const OUTPUT = "first line\n  second  42 ms\nthird (really)\n\nlast\n";

test.each([
  "first line",
  "second 42 ms",
  "second ... ms\nthird (really)",
  "first ...\n...\nlast",
  "...\nlast",
  "...third...",
])("%j is in it", (expected) => {
  expect(isPrinted(expected, OUTPUT)).toBe(true);
});

test.each([
  "line",
  "first",
  "second 43 ms",
  "first line\nlast",
  "last\n...\nfirst line",
  "third .really.",
  "first line\n...\nfourth",
])("%j is not", (expected) => {
  expect(isPrinted(expected, OUTPUT)).toBe(false);
});

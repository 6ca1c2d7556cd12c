/** docs/conformance.md names tests of hosted control planes that exist. */
import { expect, test } from "vitest";
import { conformanceRows, titlesIn } from "../../../test/support/conformance-table.js";

const rows = conformanceRows("Hosted control planes");

test("every assertion of the list has its row", () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
});

test.each(rows)("$number: its tests are in its files, and each file has one", ({ files, names }) => {
  const titles = files.map(titlesIn);
  expect(names).not.toEqual([]);
  for (const name of names) expect(titles.flat()).toContain(name);
  for (const [at, file] of files.entries()) {
    expect(
      names.some((name) => titles[at]!.includes(name)),
      `${file} has none of them`,
    ).toBe(true);
  }
});

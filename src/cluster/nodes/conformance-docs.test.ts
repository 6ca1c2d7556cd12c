/** docs/conformance.md lists the items of workers' bootstrap with tests that exist, and no test of the list is left out. */
import { expect, test } from "vitest";
import { conformanceRows, titlesIn } from "../../../test/support/conformance-table.js";

const rows = conformanceRows("Nodes by Ignition");
const list = ["src/cluster/nodes/conformance.test.ts", "test/interop/ignition/conformance.test.ts"];

test("every item has its row, and every test of the list is in one", () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
  const items = list.flatMap(titlesIn).filter((title) => /^\d+ /.test(title));
  const named = rows.flatMap(({ names }) => names);
  expect(items.filter((title) => !named.includes(title))).toEqual([]);
});

test.each(rows)("$number: its first test is in the list under its number, the others are in their files", (row) => {
  const [item = "", ...more] = row.names;
  expect(item.startsWith(`${row.number} `)).toBe(true);
  const titles = row.files.map(titlesIn);
  for (const name of [item, ...more]) expect(titles.flat()).toContain(name);
  for (const [at, file] of row.files.entries()) {
    expect([file, row.names.some((name) => titles[at]!.includes(name))]).toEqual([file, true]);
  }
});

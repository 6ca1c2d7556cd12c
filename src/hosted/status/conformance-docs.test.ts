/** docs/conformance.md names tests of hosted control planes that exist. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);
const page = readFileSync(new URL("docs/conformance.md", root), "utf8");
const section = page.split("## Hosted control planes\n")[1]!.split("\n## ")[0]!;
const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);

const rows = section
  .split("\n")
  .map((line) => /^\| (\d+) \|[^|]+\|([^|]+)\|([^|]+)\|$/.exec(line))
  .filter((row) => row !== null)
  .map(([, number, files, names]) => ({ number: Number(number), files: quoted(files!), names: quoted(names!) }));

/** Of tests and of their groups, as written: `%s` is not filled in. */
function titlesIn(file: string): string[] {
  const text = readFileSync(new URL(file.includes("/") ? file : `test/e2e/${file}`, root), "utf8");
  return [...text.matchAll(/\("((?:[^"\\]|\\.)+)", (?:async )?\(/g)].map(([, title]) => title!);
}

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

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { shelve } from "./cache.js";

test("what another build has put there first stays; anything else that is wrong is told", () => {
  const folder = mkdtempSync(join(tmpdir(), "db-shelf-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [one, two, place] = ["one", "two", "place"].map((name) => join(folder, name)) as [string, string, string];
  for (const made of [one, two]) {
    mkdirSync(made);
    writeFileSync(join(made, "file"), made);
  }
  shelve(one, place);
  shelve(two, place);
  expect(readFileSync(join(place, "file"), "utf8")).toBe(one);
  expect(() => shelve(join(folder, "nothing"), place)).toThrow(/ENOENT/);
});

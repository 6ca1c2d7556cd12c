import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants } from "./list.js";
import { planted } from "./mutant.js";

const root = new URL("../../", import.meta.url);

test.each(mutants.map((mutant) => [mutant.name, mutant] as const))("the bug %s can be planted", (_, mutant) => {
  const source = readFileSync(new URL(mutant.file, root), "utf8");
  expect(planted(mutant, source)).not.toBe(source);
});

test("no two planted bugs have the same name", () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

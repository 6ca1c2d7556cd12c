import fc from "fast-check";
import { expect, test } from "vitest";
import { aroundChanges, lineDiff } from "./line-diff.js";

test("a line diff leads from one text to the other", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDiff(before, after) ?? [];
      const without = (op: string) =>
        lines
          .filter((line) => line.op !== op)
          .map((line) => line.text)
          .join("\n");
      expect([without("added"), without("removed")]).toEqual([before, after]);
    }),
  );
});

test("a line diff is the shortest, and only the lines around changes are shown", () => {
  const before = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const after = before.with(10, "new").toSpliced(2, 0, "more");
  const shown = aroundChanges(lineDiff(before.join("\n"), after.join("\n"))!);
  expect(shown.map((line) => line && `${line.op} ${line.text}`)).toEqual([
    "same line 0",
    "same line 1",
    "added more",
    "same line 2",
    "same line 3",
    undefined,
    "same line 8",
    "same line 9",
    "removed line 10",
    "added new",
    "same line 11",
    "same line 12",
  ]);
});

test("a line diff is not made of texts that have thousands of different lines", () => {
  const lines = (word: string) => Array.from({ length: 3000 }, (_, index) => `${word} ${index}`).join("\n");
  expect(lineDiff(lines("a"), lines("b"))).toBeUndefined();
});

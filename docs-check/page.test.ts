import { expect, test } from "vitest";
import { fixturesOf, readPage, unmarked } from "./page.js";

const page = (...lines: string[]): string => lines.join("\n");

test("blocks come with their marker, their line and their text", () => {
  const blocks = readPage(
    page(
      "# Title",
      "<!-- lab: bare, with the flag -->",
      "<!-- check: bare -->",
      "```sh",
      "one",
      "two",
      "```",
      "",
      "```yaml",
      "a: 1",
      "```",
    ),
  );
  expect(blocks).toEqual([
    { line: 2, language: undefined, text: "", marker: { kind: "lab", fixture: "bare", step: "with the flag" } },
    { line: 4, language: "sh", text: "one\ntwo", marker: expect.objectContaining({ kind: "check", fixture: "bare" }) },
    { line: 9, language: "yaml", text: "a: 1", marker: undefined },
  ]);
  expect(fixturesOf(blocks)).toEqual(["bare"]);
});

test("commands of which nobody says whether they are run are found, and only they", () => {
  const marked = ["<!-- not checked: no cloud -->", "```sh", "a", "```"];
  const blocks = readPage(
    page(...marked, "```sh", "b", "```", "<!-- prints -->", "```sh", "c", "```", "```", "d", "```"),
  );
  expect(unmarked(blocks).map(({ text }) => text)).toEqual(["b", "c"]);
});

test.each([
  [["<!-- check: bare -->", "some words", "```sh", "a", "```"], "line 1: no block follows this marker"],
  [["words", "<!-- check: bare -->"], "line 2: no block follows this marker"],
  [["<!-- check: bare, soon -->", "```sh", "a", "```"], 'line 1: "soon" is nothing that a check can be told'],
  [["```sh", "a"], "line 1: the block has no end"],
])("%j is a mistake", (lines, message) => {
  expect(() => readPage(page(...lines))).toThrow(message);
});

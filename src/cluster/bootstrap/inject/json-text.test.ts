import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonNode } from "../../../tunnel/wire/json/node.js";
import { applyEdits, parseJsonText } from "./json-text.js";

/** Reads the tree back into values, from its own slices. */
function readBack(node: JsonNode, text: string): unknown {
  if (node.kind === "object")
    return Object.fromEntries(node.members.map(({ name, value }) => [name, readBack(value, text)]));
  if (node.kind === "array") return node.items.map((inner) => readBack(inner, text));
  if (node.kind === "string") return node.value;
  return JSON.parse(node.spelling);
}

test("says of any JSON what JSON.parse says, and each part lies where it says it lies", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = ` ${JSON.stringify(value, undefined, indent)}\n`;
      const root = parseJsonText(text);
      expect(readBack(root, text)).toEqual(JSON.parse(text));
      const visit = (node: JsonNode): void => {
        expect(JSON.parse(text.slice(node.start, node.end))).toEqual(readBack(node, text));
        if (node.kind === "object") for (const { value: inner } of node.members) visit(inner);
        if (node.kind === "array") for (const inner of node.items) visit(inner);
      };
      visit(root);
    }),
  );
});

test.each([
  ['{"a":1,"a":2}', /"a" stands twice/],
  ['{"b":{"a":1,"\\u0061":2}}', /"a" stands twice/],
  [`${"[".repeat(300)}${"]".repeat(300)}`, /deeper than 200/],
  ['{"a":"b', /ends in the middle/],
  ["", /ends in the middle/],
  ['{"key":"secret" oops}', /unexpected stands in line 1, column \d+$/],
])("refuses %#", (text, reason) => {
  expect(() => parseJsonText(text)).toThrow(reason);
});

test("a refusal quotes nothing of the text, which may be a key", () => {
  expect(() => parseJsonText('{"key":"secret" oops}')).not.toThrow(/secret|oops/);
});

test("edits are applied in the order of their places, and may not overlap", () => {
  const edits = [
    { start: 4, end: 5, text: "E" },
    { start: 0, end: 1, text: "" },
    { start: 2, end: 2, text: "+" },
  ];
  expect(applyEdits("abcde", edits)).toBe("b+cdE");
  expect(() =>
    applyEdits("abc", [
      { start: 0, end: 2, text: "" },
      { start: 1, end: 3, text: "" },
    ]),
  ).toThrow(/overlap/);
});

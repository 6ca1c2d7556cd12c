import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyEdits, type JsonNode, memberOf, positionReader, readJson, repeatedMember } from "./located-json.js";

function plain(node: JsonNode): unknown {
  if (node.kind === "object") return Object.fromEntries(node.members.map(({ name, value }) => [name, plain(value)]));
  if (node.kind === "array") return node.items.map(plain);
  return node.kind === "string" ? node.value : JSON.parse(node.spelling);
}

test("readJson reads what JSON.parse reads, however it is spaced", () => {
  const json = fc.jsonValue({ stringUnit: "grapheme" }).filter((value) => !JSON.stringify(value).includes("__proto__"));
  fc.assert(
    fc.property(json, fc.constantFrom("", " ", "\n\t"), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      expect(plain(readJson(text))).toEqual(JSON.parse(text));
    }),
  );
});

test("readJson reports the offset of every value and keeps the spelling of numbers", () => {
  const text = '{\n  "a": [1, 2.50],\n  "a": "x\\"y"\n}';
  const root = readJson(text);
  const positions = positionReader(text);
  expect([root, memberOf(root, "a")].map((node) => positions(node!.start))).toEqual([
    { line: 1, column: 1 },
    { line: 3, column: 8 },
  ]);
  expect([memberOf(root, "b"), memberOf(memberOf(root, "a"), "a"), memberOf(undefined, "a")]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect(root.kind === "object" && root.members.map(({ value }) => value)).toMatchObject([
    { items: [{ spelling: "1" }, { spelling: "2.50" }] },
    { value: 'x"y' },
  ]);
});

test("halves of surrogate pairs become replacement characters", () => {
  expect(plain(readJson('["\\ud800", "\\ud83d\\ude00"]'))).toEqual(["\ufffd", "\u{1f600}"]);
});

describe("what is no JSON", () => {
  const refusal = (text: string): string => {
    try {
      readJson(text);
    } catch (error) {
      return (error as Error).message;
    }
    return "accepted";
  };

  test.each([
    ['{"key": "-----BEGIN', "it is not JSON: it ends in the middle, as a cut-off copy does"],
    ['{"key":\n SECRET}', "it is not JSON: something unexpected stands in line 2, column 2"],
    ["variant: fcos", "it is not JSON: it does not begin with a brace, as a config does"],
    ['{"a": [1, 2}', "line 1, column 12"],
    ['{"a": tru }', "line 1, column 10"],
  ])("%j is named without being quoted", (text, message) => {
    expect(refusal(text)).toContain(message);
    expect(refusal(text)).not.toContain("SECRET");
  });

  test("bottomless nesting is refused, not followed", () => {
    expect(refusal("[".repeat(100_000) + "]".repeat(100_000))).toBe(
      "it nests deeper than 200 levels, as no config does",
    );
  });
});

test("each value is at its offsets", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, indent) => {
      const text = ` ${JSON.stringify(value, undefined, indent)}\n`;
      const visit = (node: JsonNode): void => {
        expect(JSON.parse(text.slice(node.start, node.end))).toEqual(plain(node));
        if (node.kind === "object") for (const { value: inner } of node.members) visit(inner);
        if (node.kind === "array") for (const inner of node.items) visit(inner);
      };
      visit(readJson(text));
    }),
  );
});

test.each([
  ['{"a":1,"b":{"a":2}}', undefined],
  ['{"a":1,"a":2}', "a"],
  ['[{"b":{"a":1,"\\u0061":2}}]', "a"],
  ['{"files":[],"Files":[]}', "Files"],
])("the member that %s has twice is %s", (text, name) => {
  expect(repeatedMember(readJson(text))?.name).toBe(name);
});

test("edits are applied in the order of their offsets, and may not overlap", () => {
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

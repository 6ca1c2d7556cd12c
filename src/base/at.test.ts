import { expect, test } from "vitest";
import { at, isRecord, listOf } from "./at.js";

test("at reads through objects and lists", () => {
  const pod = { spec: { containers: [{ name: "a" }, { name: "b" }] } };
  expect(at(pod, "spec", "containers", 1, "name")).toBe("b");
});

test.each([undefined, null, "text", 7, { a: null }])("at answers undefined where %j has no such path", (value) => {
  expect(at(value, "a", "b")).toBeUndefined();
});

test("isRecord takes mappings only, and listOf lists only", () => {
  expect([{}, [], null, "a"].map(isRecord)).toEqual([true, false, false, false]);
  expect([["a"], { 0: "a" }, null].map(listOf)).toEqual([["a"], [], []]);
});

import { expect, test } from "vitest";
import { includes } from "./steps/agents.js";

const live = { kind: "Secret", metadata: { name: "a", uid: "7" }, data: { key: "b64" }, list: [{ a: 1, b: 2 }, "x"] };

test.each([
  [{}, true],
  [{ kind: "Secret", metadata: { name: "a" } }, true],
  [{ data: { key: "b64" }, list: [{ a: 1 }, "x"] }, true],
  [{ data: { key: "other" } }, false],
  [{ data: { more: "b64" } }, false],
  [{ list: [{ a: 1 }] }, false],
  [{ list: [{ a: 2 }, "x"] }, false],
  [{ list: ["x", { a: 1 }] }, false],
  [{ kind: { name: "a" } }, false],
  [{ kind: ["Secret"] }, false],
])("includes finds %j in the object: %s", (wanted, isSo) => {
  expect(includes(live, wanted)).toBe(isSo);
});

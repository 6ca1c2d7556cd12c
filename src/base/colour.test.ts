import { expect, test } from "vitest";
import { isColoured, painterFor } from "./colour.js";

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
  [false, { FORCE_COLOR: "1" }, true],
  [false, { FORCE_COLOR: "" }, true],
  [true, { FORCE_COLOR: "0" }, false],
  [true, { FORCE_COLOR: "false" }, false],
  [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
])("a terminal: %s, environment %j: coloured %s", (isTTY, env, coloured) => {
  expect(isColoured({ isTTY }, env)).toBe(coloured);
});

test("text is painted only where it is shown in colour", () => {
  expect(painterFor({ isTTY: true }, {})("failed", "bold", "red")).toBe("\u001b[1;31mfailed\u001b[0m");
  expect(painterFor({ isTTY: true }, {})("")).toBe("");
  expect(painterFor({}, {})("failed", "bold", "red")).toBe("failed");
});

import { expect, test } from "vitest";
import { hanging } from "./hanging.js";

const TEXT = "check the path to the server and its certificate, then try again";

test.each([
  [
    "a terminal",
    { isTTY: true, columns: 44 },
    "Do: check the path to the server and its\n    certificate, then try again\n",
  ],
  ["a terminal without a size", { isTTY: true, columns: 0 }, `Do: ${TEXT}\n`],
  ["a pipe, where it stays as it is", { columns: 44 }, `Do: ${TEXT}\n`],
])("a long sentence on %s", (_, stream, shown) => {
  expect(hanging("Do: ", TEXT, 4, stream)).toBe(shown);
});

test("what its author broke stays as it is", () => {
  expect(hanging("Error: ", `one:\n  ${TEXT}`, 7, { isTTY: true, columns: 44 })).toBe(`Error: one:\n  ${TEXT}\n`);
});

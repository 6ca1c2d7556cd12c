import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { text, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { captureOutput } from "../testing/output.js";
import { defineCommand } from "./define.js";
import { defineFamily } from "./family.js";

const printed = captureOutput();

const greet = defineCommand({
  purpose: "Greets somebody.",
  flags: { "whole-name": text("Name of the person."), "is-evening": yesNo("Say good evening.") },
  run: async ({ wholeName, isEvening }, { words }) => {
    if (wholeName === "") throw refused("--whole-name is missing");
    if (wholeName === "nobody") throw new DrawbridgeError("DB_NODEPOOL", "there is nobody");
    return { greeting: `Good ${isEvening ? "evening" : "day"}, ${wholeName}`, words };
  },
  show: ({ greeting }) => `${greeting}!\n`,
  exitCode: ({ greeting }) => (greeting.includes("evening") ? 3 : 0),
});

test("a result is shown as text, and its exit code is returned", async () => {
  expect(await greet.run("greet", ["--whole-name=Anna", "--is-evening"])).toBe(3);
  expect(printed).toEqual({ stdout: "Good evening, Anna!\n", stderr: "" });
});

test("--output json prints the result itself, harmless for a terminal", async () => {
  expect(await greet.run("greet", ["--whole-name=\u009b", "-o", "json"])).toBe(0);
  expect(printed.stdout).toBe('{\n  "greeting": "Good day, \\u009b",\n  "words": []\n}\n');
});

test.each([
  [["--whole-name"], 2],
  [[], 2],
  [["word", "--whole-name=a"], 2],
  [["--whole-name=nobody"], 1],
  [["--output=yaml"], 2],
])("%j is one line on standard error and exit code %i", async (argv, code) => {
  expect(await greet.run("greet", argv)).toBe(code);
  expect(printed.stdout).toBe("");
  expect(printed.stderr).toMatch(/^Error: [^\n]+ \(DB_[A-Z_]+: [^\n]+\)\n$/);
});

test("misuse of upstream's executables ends with 1", async () => {
  expect(await greet.run("greet", ["--nonsense"], 1)).toBe(1);
});

test("a family finds commands by their first word and passes the program's whole name on", async () => {
  const family = defineFamily("Does this and that.", { greet: ["Greet somebody", async () => greet] });
  expect(await family.run("drawbridge", ["greet", "--help"])).toBe(0);
  expect(printed.stdout).toContain("Usage:\n  drawbridge greet [flags]\n");
  expect(await family.run("drawbridge", ["gret"])).toBe(2);
  expect(printed.stderr).toContain('unknown command: "gret"; commands of drawbridge are: greet');
  expect(await family.run("drawbridge", [])).toBe(0);
  expect(printed.stdout).toContain("  greet   Greet somebody\n");
});

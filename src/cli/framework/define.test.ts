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
  examples: ["greet --whole-name Anna"],
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

test.each([
  [["--whole-name", "nobody", "-o", "json"], 1, "DB_NODEPOOL", "there is nobody"],
  [["--whole-nam=x", "--output=json"], 2, "DB_FLAG_UNKNOWN", "unknown flag: --whole-nam; did you mean --whole-name?"],
  [["word", "-ojson"], 2, "DB_FLAG_VALUE", '"word" belongs to no flag'],
])("%j: the error is JSON on standard error, and the exit code %i", async (argv, status, code, message) => {
  expect(await greet.run("greet", argv)).toBe(status);
  expect(printed.stdout).toBe("");
  expect(JSON.parse(printed.stderr)).toEqual({ error: { code, message, remedy: expect.stringMatching(/\w+\.$/) } });
});

test("--version is known to every command, and is JSON where results are", async () => {
  expect(await greet.run("drawbridge greet", ["--version"])).toBe(0);
  expect(printed.stdout).toMatch(/^drawbridge \d+\.\d+\.\d+ \((commit \w+, )?Node [\d.]+, \w+-\w+\)\n$/);
  printed.stdout = "";
  await greet.run("drawbridge greet", ["--version", "-o", "json"]);
  expect(JSON.parse(printed.stdout)).toEqual({
    ...{ version: expect.stringMatching(/^\d+\.\d+/), commit: expect.any(String) },
    ...{ node: process.versions.node, platform: `${process.platform}-${process.arch}` },
  });
});

test("misuse of upstream's executables ends with 1", async () => {
  expect(await greet.run("greet", ["--nonsense"], 1)).toBe(1);
});

test("a family finds commands by their first word and passes the program's whole name on", async () => {
  const family = defineFamily("Does this and that.", { greet: ["Greet somebody", async () => greet] });
  expect(await family.run("drawbridge", ["greet", "--help"])).toBe(0);
  expect(printed.stdout).toContain("Usage:\n  drawbridge greet [flags]\n");
  expect(await family.run("drawbridge", ["gret"])).toBe(2);
  expect(printed.stderr).toContain('unknown command: "gret"; did you mean greet? (DB_FLAG_UNKNOWN');
  printed.stdout = "";
  expect(await family.run("drawbridge", ["-v"])).toBe(0);
  expect(printed.stdout).toMatch(/^drawbridge \d+\.\d+/);
  expect(await family.run("drawbridge", ["help", "greet"])).toBe(0);
  expect(printed.stdout).toContain("Usage:\n  drawbridge greet [flags]\n");
  expect(await family.run("drawbridge", [])).toBe(0);
  expect(printed.stdout).toContain("  greet   Greet somebody\n");
});

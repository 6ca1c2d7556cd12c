import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exclusively } from "./store.js";

let base: string;
let directory: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "drawbridge-exclusive-"));
  directory = join(base, "state");
});
afterEach(() => rmSync(base, { recursive: true }));

test("holds the directory while it runs, and leaves nothing", async () => {
  const seen = await exclusively(directory, async () => readdirSync(directory));
  expect(seen).toEqual([".lock"]);
  expect(existsSync(directory)).toBe(false);
});

test("keeps what was made, and directories that were there", async () => {
  mkdirSync(directory);
  await exclusively(directory, async () => undefined);
  expect(readdirSync(directory)).toEqual([]);
});

test("says who is at work", async () => {
  mkdirSync(directory);
  // The process that runs these tests is nobody's own.
  writeFileSync(join(directory, ".lock"), `${process.ppid}\n`);
  await expect(exclusively(directory, async () => undefined)).rejects.toThrow(
    `another drawbridge workers command (process ${process.ppid}) is at work in ${directory}`,
  );
  expect(readFileSync(join(directory, ".lock"), "utf8")).toBe(`${process.ppid}\n`);
});

test.each(["4194305\n", "", "what?"])("takes over a lock of nobody: %j", async (content) => {
  mkdirSync(directory);
  writeFileSync(join(directory, ".lock"), content);
  expect(await exclusively(directory, async () => readdirSync(directory))).toEqual([".lock"]);
});

test("lets go after a failure", async () => {
  const failing = exclusively(directory, async () => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await expect(exclusively(directory, async () => 1)).resolves.toBe(1);
});

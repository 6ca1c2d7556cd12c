import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryApi } from "../testing/memory-api.js";
import { exclusively, isBusy, withPoolLock } from "./lock.js";
import { WorkerStore } from "./store.js";

let base: string;
let directory: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "drawbridge-exclusive-"));
  directory = join(base, "state");
});
afterEach(() => rmSync(base, { recursive: true }));

test("the lock exists while a command runs, and a new directory is removed afterwards", async () => {
  const seen = await exclusively(directory, async () => readdirSync(directory));
  expect(seen).toEqual([".lock"]);
  expect(existsSync(directory)).toBe(false);
});

test("the lock keeps a directory that existed before", async () => {
  mkdirSync(directory);
  await exclusively(directory, async () => undefined);
  expect(readdirSync(directory)).toEqual([]);
});

test("a second command is refused with the process number of the first", async () => {
  mkdirSync(directory);
  // The process that runs these tests is nobody's own.
  writeFileSync(join(directory, ".lock"), `${process.ppid}\n`);
  await expect(exclusively(directory, async () => undefined)).rejects.toThrow(
    `another drawbridge workers command (process ${process.ppid}) is at work in ${directory}`,
  );
  expect(readFileSync(join(directory, ".lock"), "utf8")).toBe(`${process.ppid}\n`);
});

test.each(["4194305\n", "", "what?"])("a lock whose process is gone is taken over: %j", async (content) => {
  mkdirSync(directory);
  writeFileSync(join(directory, ".lock"), content);
  expect(await exclusively(directory, async () => readdirSync(directory))).toEqual([".lock"]);
});

test("the lock is released after a failure", async () => {
  const failing = exclusively(directory, async () => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await expect(exclusively(directory, async () => 1)).resolves.toBe(1);
});

test("a second host waits while another one is at work on the pool, and is told who it is", async () => {
  const api = createMemoryApi();
  const lockOf = (name: string, waitMs: number) => {
    const store = new WorkerStore({ api, namespace: "drawbridge", directory: join(base, name) });
    return { api, namespace: "drawbridge", pool: "workers", store, waitMs };
  };
  const order: string[] = [];
  await withPoolLock(lockOf("a", 5000), async () => {
    const other = withPoolLock(lockOf("b", 100), async () => order.push("never"));
    await expect(other).rejects.toSatisfy(isBusy);
    await expect(other).rejects.toThrow(`${join(base, "a")} holds the lease drawbridge-workers-workers in drawbridge`);
    await withPoolLock({ ...lockOf("b", 100), pool: "others" }, async () => order.push("another pool"));
  });
  await withPoolLock(lockOf("b", 5000), async () => order.push("afterwards"));
  expect(order).toEqual(["another pool", "afterwards"]);
});

import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LockError, withLock } from "./file-lock.js";
import { hastyClock } from "./testing/hasty-clock.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-lock-"));
  path = join(folder, ".lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

const yes = async () => true;
const secondsAgo = (seconds: number): Date => new Date(Date.now() - seconds * 1000);
/** The lock, wanted by somebody who does not sleep while others might renew it; `meanwhile` is what they do. */
const lockAtOnce = (meanwhile?: () => void) => withLock(path, yes, 0, { ...hastyClock(meanwhile), date: Date.now });
const age = (): number => Date.now() - statSync(path).mtimeMs;

test("a lock of a process that runs is not taken over, however old it is", async () => {
  writeFileSync(path, `${process.ppid}\n`);
  utimesSync(path, secondsAgo(3600), secondsAgo(3600));
  await expect(withLock(path, yes)).rejects.toMatchObject({ holder: process.ppid });
});

test("a lock of a process that is gone is taken over", async () => {
  writeFileSync(path, "4194305\n");
  expect(await withLock(path, yes)).toBe(true);
});

// In another container a process has another number, or the same one as this.
test.each([4194305, process.pid])(
  "a lock of process %i of another container is respected while it is renewed",
  async (pid) => {
    writeFileSync(path, `${pid} elsewhere/pid:[1]\n`);
    await expect(withLock(path, yes)).rejects.toBeInstanceOf(LockError);
    utimesSync(path, secondsAgo(20), secondsAgo(20));
    expect(await lockAtOnce()).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  },
);

test("a lock of another container that nobody renews is taken over after the clock was set back", async () => {
  writeFileSync(path, "4194305 elsewhere/pid:[1]\n");
  utimesSync(path, secondsAgo(-21_600), secondsAgo(-21_600));
  expect(await lockAtOnce()).toBe(true);
});

test.each([6, -6])("a lock of another container is respected when a clock was set by %i hours", async (hours) => {
  writeFileSync(path, "4194305 elsewhere/pid:[1]\n");
  const renew = () => utimesSync(path, secondsAgo(hours * 3600), secondsAgo(hours * 3600 - 1));
  utimesSync(path, secondsAgo(hours * 3600), secondsAgo(hours * 3600));
  await expect(lockAtOnce(renew)).rejects.toBeInstanceOf(LockError);
});

test("a process renews its lock as long as it holds it", async () => {
  await withLock(path, async () => {
    utimesSync(path, secondsAgo(3600), secondsAgo(3600));
    await vi.waitFor(() => expect(age()).toBeLessThan(60_000), { timeout: 10_000, interval: 100 });
  });
});

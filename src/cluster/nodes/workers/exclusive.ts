/** One command at a time on a directory of workers: two that both make machines would make some of them twice. */
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { createFile } from "../../../base/files.js";

/** A killed command leaves its lock behind; whoever comes next sees that nobody holds it. */
export async function exclusively<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const path = join(directory, ".lock");
  const isNew = await acquire(directory, path);
  try {
    return await run();
  } finally {
    await rm(path, { force: true });
    // A command that came to nothing leaves nothing.
    if (isNew) await rmdir(directory).catch(() => undefined);
  }
}

/** Whether the directory was made for it. */
async function acquire(directory: string, path: string): Promise<boolean> {
  const mine = `${path}.${randomBytes(6).toString("hex")}`;
  let isNew: boolean;
  try {
    isNew = (await mkdir(directory, { recursive: true, mode: 0o700 })) !== undefined;
    await createFile(mine, `${process.pid}\n`, 0o600);
  } catch (reason) {
    throw unusable(`${directory} cannot be written to: ${messageOf(reason)}`);
  }
  try {
    if (await isTaken(mine, path)) {
      await discard(path, `${mine}.old`);
      if (await isTaken(mine, path)) throw busy(directory, path, await holderOf(path));
    }
    return isNew;
  } finally {
    await rm(mine, { force: true });
  }
}

/** The lock takes its name only once it is written, so that nobody reads half of it. */
async function isTaken(mine: string, path: string): Promise<boolean> {
  try {
    await link(mine, path);
    return false;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "EEXIST") return true;
    throw unusable(`${path} cannot be written: ${messageOf(reason)}`);
  }
}

/** Only a lock of nobody; two that find the same one must not take the winner's for it. */
async function discard(path: string, away: string): Promise<void> {
  if (isRunning(await holderOf(path))) return;
  await rename(path, away).catch(() => undefined);
  if (isRunning(await holderOf(away))) await link(away, path).catch(() => undefined);
  await rm(away, { force: true });
}

async function holderOf(path: string): Promise<number> {
  return Number.parseInt(await readFile(path, "utf8").catch(() => ""), 10);
}

function isRunning(pid: number): boolean {
  // A container's commands all have the same number.
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === "EPERM";
  }
}

class Busy extends DrawbridgeError {}

/** Whether somebody else is at work there, so that it can be done later. */
export function isBusy(reason: unknown): reason is DrawbridgeError {
  return reason instanceof Busy;
}

function busy(directory: string, path: string, holder: number): DrawbridgeError {
  const what = `another drawbridge workers command (process ${holder}) is at work in ${directory}`;
  return new Busy("DB_WORKERS", `${what}: wait for it, or delete ${path} if there is none`);
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_WORKERS", sentence);
}

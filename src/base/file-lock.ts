/** Locks between the processes of a host: a file with the number of the process that holds it. */
import { link, readFile, rename, rm } from "node:fs/promises";
import { pause, systemClock } from "./clock.js";
import { messageOf } from "./errors/error.js";
import { createFile, temporaryPathFor } from "./files.js";

const RETRY_MS = 5;

export class LockError extends Error {
  /** The process that holds the lock; undefined when its file cannot be written at all. */
  readonly holder: number | undefined;

  constructor(message: string, holder?: number) {
    super(message);
    this.holder = holder;
  }
}

/** The last one of this process that holds or wants a lock, by its path. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs the action while this process holds the lock, and waits for the lock at most that long; throws LockError. A process
 * that was killed leaves its lock behind, and the next one takes it over.
 */
export function withLock<T>(path: string, run: () => Promise<T>, waitMs = 0): Promise<T> {
  const turn = (turns.get(path) ?? Promise.resolve()).then(() => hold(path, run, waitMs));
  const end = turn
    .catch(() => undefined)
    .then(() => {
      if (turns.get(path) === end) turns.delete(path);
    });
  turns.set(path, end);
  return turn;
}

async function hold<T>(path: string, run: () => Promise<T>, waitMs: number): Promise<T> {
  const mine = temporaryPathFor(path);
  try {
    await createFile(mine, `${process.pid}\n`, 0o600);
    const until = systemClock.now() + waitMs;
    while (!(await acquire(mine, path))) {
      const holder = await holderOf(path);
      if (systemClock.now() >= until) throw new LockError(`${path} is held by process ${holder}`, holder);
      await pause(systemClock, RETRY_MS);
    }
  } catch (reason) {
    throw reason instanceof LockError ? reason : new LockError(`${path} cannot be written: ${messageOf(reason)}`);
  } finally {
    await rm(mine, { force: true });
  }
  try {
    return await run();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(mine: string, path: string): Promise<boolean> {
  if (await isTaken(mine, path)) await discardOfNobody(path, `${mine}.old`);
  else return true;
  return !(await isTaken(mine, path));
}

/** The lock takes its name only once it is written, so that nobody reads half of it. */
async function isTaken(mine: string, path: string): Promise<boolean> {
  try {
    await link(mine, path);
    return false;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "EEXIST") return true;
    throw reason;
  }
}

/** Removes a lock whose holder is gone; two that find the same one must not take the winner's for it. */
async function discardOfNobody(path: string, away: string): Promise<void> {
  if (isRunning(await holderOf(path))) return;
  await rename(path, away).catch(() => undefined);
  if (isRunning(await holderOf(away))) await link(away, path).catch(() => undefined);
  await rm(away, { force: true });
}

async function holderOf(path: string): Promise<number> {
  return Number.parseInt(await readFile(path, "utf8").catch(() => ""), 10);
}

function isRunning(pid: number): boolean {
  // This process takes turns with itself already, and in containers every command has the same number.
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Locks between processes: a file that names the process that holds it. Processes of one host and container see by the
 * number whether the holder still runs. Others, which share only the folder, see it by the file's time, which the holder
 * renews.
 */
import { readlinkSync } from "node:fs";
import { link, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { type Clock, pause, systemClock } from "./clock.js";
import { messageOf } from "./errors/error.js";
import { createFile, temporaryPathFor } from "./files.js";

const RETRY_MS = 5;
const RENEW_MS = 2_000;
/** A lock elsewhere with a time that is so far from this host's is watched for two renewals: a clock may have been set. */
const STALE_MS = 15_000;

export class LockError extends Error {
  /** The process that holds the lock; undefined when its file cannot be written at all. */
  readonly holder: number | undefined;

  constructor(message: string, holder?: number, cause?: unknown) {
    super(message, { cause });
    this.holder = holder;
  }
}

/** The last one of this process that holds or wants a lock, by its path. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs the action while this process holds the lock, and waits for the lock at most that long; throws LockError. A process
 * that was killed leaves its lock behind, and the next one takes it over.
 */
export function withLock<T>(path: string, run: () => Promise<T>, waitMs = 0, clock = systemClock): Promise<T> {
  const turn = (turns.get(path) ?? Promise.resolve()).then(() => hold(path, run, waitMs, clock));
  const end = turn
    .catch(() => undefined)
    .then(() => {
      if (turns.get(path) === end) turns.delete(path);
    });
  turns.set(path, end);
  return turn;
}

async function hold<T>(path: string, run: () => Promise<T>, waitMs: number, clock: Clock): Promise<T> {
  const mine = temporaryPathFor(path);
  try {
    await createFile(mine, `${process.pid} ${numberSpace()}\n`, 0o600);
    const until = clock.now() + waitMs;
    while (!(await acquire(mine, path, clock))) {
      const pid = (await holderOf(path))?.pid;
      if (clock.now() >= until) throw new LockError(`${path} is held by process ${pid}`, pid);
      await pause(clock, RETRY_MS);
    }
  } catch (reason) {
    if (reason instanceof LockError) throw reason;
    throw new LockError(`${path} cannot be written: ${messageOf(reason)}`, undefined, reason);
  } finally {
    await rm(mine, { force: true });
  }
  const renewal = setInterval(() => {
    const now = clock.date() / 1000;
    utimes(path, now, now).catch(() => undefined);
  }, RENEW_MS).unref();
  try {
    return await run();
  } finally {
    clearInterval(renewal);
    await rm(path, { force: true });
  }
}

async function acquire(mine: string, path: string, clock: Clock): Promise<boolean> {
  if (!(await isTaken(mine, path))) return true;
  await discardOfNobody(path, `${mine}.old`, clock);
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
async function discardOfNobody(path: string, away: string, clock: Clock): Promise<void> {
  const holder = await holderOf(path);
  if (isRunning(holder, clock) || (await isRenewed(path, holder, clock))) return;
  await rename(path, away).catch(() => undefined);
  if (isRunning(await holderOf(away), clock)) await link(away, path).catch(() => undefined);
  await rm(away, { force: true });
}

interface LockHolder {
  readonly pid: number;
  /** Where that number means this process; undefined in locks that do not say it. */
  readonly space: string | undefined;
  readonly renewedAt: number;
}

/** Undefined: there is no lock, or nothing that can be read. */
async function holderOf(path: string): Promise<LockHolder | undefined> {
  try {
    const [pid = "", space] = (await readFile(path, "utf8")).trim().split(" ");
    return { pid: Number.parseInt(pid, 10), space, renewedAt: (await stat(path)).mtimeMs };
  } catch {
    return undefined;
  }
}

function isRunning(holder: LockHolder | undefined, clock: Clock): boolean {
  if (holder === undefined || !Number.isInteger(holder.pid)) return false;
  const { pid, space = numberSpace(), renewedAt } = holder;
  if (space !== numberSpace()) return Math.abs(clock.date() - renewedAt) < STALE_MS;
  // This process takes turns with itself already, so the lock is from one that had its number before.
  return pid !== process.pid && isProcessRunning(pid);
}

/** Whether a holder elsewhere renews it after all. */
async function isRenewed(path: string, holder: LockHolder | undefined, clock: Clock): Promise<boolean> {
  if (holder?.space === undefined || holder.space === numberSpace()) return false;
  await pause(clock, 2 * RENEW_MS);
  const renewedAt = (await holderOf(path))?.renewedAt;
  return renewedAt !== undefined && renewedAt !== holder.renewedAt;
}

export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Host and PID namespace: within them a process is known by its number. */
function numberSpace(): string {
  try {
    return `${hostname()}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

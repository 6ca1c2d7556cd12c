/** One writer at a time in a directory, whichever process it belongs to. */
import { randomBytes } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DrawbridgeError } from "../../../../base/errors/error.js";

const RETRY_MS = 5;
/** Writes take milliseconds; whoever holds it longer was killed. */
const STALE_MS = 10_000;
const PATIENCE_MS = 15_000;

export async function locked<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const path = join(directory, ".lock");
  await acquire(path);
  try {
    return await run();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(path: string): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    try {
      await (await open(path, "wx", 0o600)).close();
      return;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
    }
    if (await isStale(path)) await discard(path);
    else await delay(RETRY_MS);
  }
  throw new DrawbridgeError("DB_NODEPOOL_DIRECTORY", `${path} is held by another process for too long`);
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

/** By renaming: of two that find it stale only one succeeds. */
async function discard(path: string): Promise<void> {
  const away = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await rename(path, away);
    await rm(away, { force: true });
  } catch {
    // The other one was faster.
  }
}

/** The directory of workers: one record of all, a user-data file for each, and the inventory that an approver reads. */

import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { createFile, replaceFile } from "../../../base/files.js";
import { readTrustedFile } from "../../../base/trusted-file.js";
import { readInventory } from "../csr/inventory.js";
import { inventoryText, type Numbers, providers, usedNumbers, type Worker, workersError } from "./worker.js";

interface Stored {
  readonly workers: readonly Worker[];
  readonly numbers: Numbers;
}

export class WorkerStore {
  readonly #directory: string;
  /** Changes of one process, one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Absolute. */
  get directory(): string {
    return resolve(this.#directory);
  }

  /** For `drawbridge csr approver --inventory`. */
  get inventoryDirectory(): string {
    return join(this.#directory, "inventory");
  }

  userDataFile(worker: string): string {
    return join(this.#directory, `${worker}.ign`);
  }

  async read(): Promise<Worker[]> {
    return [...(await this.#read()).workers];
  }

  /** Which numbers are used up, those of workers that are gone included. */
  async numbers(): Promise<Numbers> {
    const { numbers, workers } = await this.#read();
    return usedNumbers(numbers, namesOf(workers));
  }

  /** The inventory first: a machine that is not expected yet would be refused, one that is never made does no harm. */
  async write(workers: readonly Worker[]): Promise<void> {
    const before = await this.#read();
    const sorted = [...workers].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    const numbers = usedNumbers(before.numbers, [...namesOf(before.workers), ...namesOf(sorted)]);
    const inventory = inventoryText(sorted);
    // What an approver could not read would stop every approval.
    readInventory([{ where: "the inventory", text: inventory }]);
    await replace(join(this.inventoryDirectory, "workers.yaml"), inventory);
    await replace(this.#record, `${JSON.stringify({ workers: sorted, numbers }, undefined, 2)}\n`);
  }

  /** Reads, changes and writes with nothing in between; resolves to what is there then. */
  change(make: (workers: readonly Worker[]) => readonly Worker[]): Promise<Worker[]> {
    const changed = this.#last.then(async () => {
      const workers = [...make(await this.read())];
      await this.write(workers);
      return workers;
    });
    this.#last = changed.catch(() => undefined);
    return changed;
  }

  async writeUserData(worker: string, text: string): Promise<string> {
    const path = this.userDataFile(worker);
    await replace(path, text);
    return path;
  }

  async removeUserData(worker: string): Promise<void> {
    await rm(this.userDataFile(worker), { force: true });
  }

  get #record(): string {
    return join(this.#directory, "workers.json");
  }

  async #read(): Promise<Stored> {
    const path = this.#record;
    let text: string | undefined;
    try {
      // It holds commands that remove machines, and they are run.
      text = await readTrustedFile(resolve(path));
    } catch (reason) {
      if (reason instanceof DrawbridgeError) throw reason;
      throw workersError(`${path} cannot be read: ${messageOf(reason)}`);
    }
    if (text === undefined) return { workers: [], numbers: {} };
    try {
      const { numbers = {}, workers } = JSON.parse(text) as { workers: unknown; numbers?: Numbers };
      if (!Array.isArray(workers) || !workers.every(isWorker)) throw new Error("it does not hold workers");
      if (!Object.values(numbers).every(Number.isSafeInteger)) throw new Error("its numbers are none");
      return { workers, numbers };
    } catch (reason) {
      throw workersError(`${path} cannot be used: ${messageOf(reason)}`);
    }
  }
}

function namesOf(workers: readonly Worker[]): string[] {
  return workers.map(({ name }) => name);
}

function isWorker(value: unknown): value is Worker {
  const worker = value as Partial<Worker> | null;
  return (
    typeof worker?.name === "string" &&
    /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(worker.name) &&
    typeof worker.pool === "string" &&
    providers.some((provider) => provider === worker.provider) &&
    Array.isArray(worker.ips) &&
    Array.isArray(worker.deleteCommand)
  );
}

/** Whole or not at all; tokens are in some of them. */
async function replace(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, text, 0o600);
  } catch (reason) {
    throw workersError(`${path} cannot be written: ${messageOf(reason)}`);
  }
}

/**
 * One command at a time on a directory of workers: two that both make machines would make some of them twice. A killed
 * command leaves its lock behind; the next command sees that its process is gone.
 */
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
    throw workersError(`${directory} cannot be written to: ${messageOf(reason)}`);
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
    throw workersError(`${path} cannot be written: ${messageOf(reason)}`);
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

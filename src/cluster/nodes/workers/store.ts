/** The directory of workers: one record of all, a user-data file for each, and the inventory that an approver reads. */

import { rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DrawbridgeError, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { LockError, withLock } from "../../../base/file-lock.js";
import { makeDirectory, replaceFile } from "../../../base/files.js";
import { readTrustedFile } from "../../../base/trusted-file.js";
import { readInventory } from "../csr/inventory.js";
import { inventoryText, type Numbers, PROVIDERS, usedNumbers, type Worker, workersError } from "./worker.js";

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

  /** The absolute path. */
  get directory(): string {
    return resolve(this.#directory);
  }

  /** The directory for `drawbridge csr approver --inventory`. */
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

  /** Drops a worker and its user data; resolves to the workers that are left. */
  async forget(worker: string): Promise<Worker[]> {
    const left = await this.change((workers) => workers.filter(({ name }) => name !== worker));
    await this.removeUserData(worker);
    return left;
  }

  async removeUserData(worker: string): Promise<void> {
    await rm(this.userDataFile(worker), { force: true });
  }

  get #record(): string {
    return join(this.#directory, "workers.json");
  }

  async #read(): Promise<Stored> {
    const path = this.#record;
    // It holds commands that remove machines, and they are run.
    const text = await readTrustedFile(resolve(path)).catch((reason: unknown) => {
      throw reason instanceof DrawbridgeError ? reason : workersError(`${path} cannot be read: ${messageOf(reason)}`);
    });
    if (text === undefined) return { workers: [], numbers: {} };
    return wrapErrors("DB_WORKERS", `${path} cannot be used`, () => {
      const { numbers = {}, workers } = JSON.parse(text) as { workers: unknown; numbers?: Numbers };
      if (!Array.isArray(workers) || !workers.every(isWorker)) throw new Error("it does not hold workers");
      if (!Object.values(numbers).every(Number.isSafeInteger)) throw new Error("its numbers are none");
      return { workers, numbers };
    });
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
    PROVIDERS.some((provider) => provider === worker.provider) &&
    Array.isArray(worker.ips) &&
    Array.isArray(worker.deleteCommand)
  );
}

/** Whole or not at all; tokens are in some of them. */
async function replace(path: string, text: string): Promise<void> {
  await wrapErrors("DB_WORKERS", `${path} cannot be written`, async () => {
    await makeDirectory(dirname(path), 0o700);
    await replaceFile(path, text, 0o600);
  });
}

/** One command at a time on a directory of workers: two that both make machines would make some of them twice. */
export async function exclusively<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const path = join(directory, ".lock");
  const made = await wrapErrors("DB_WORKERS", `${directory} cannot be written to`, () =>
    makeDirectory(directory, 0o700),
  );
  try {
    return await withLock(path, run);
  } catch (reason) {
    if (!(reason instanceof LockError)) throw reason;
    if (reason.holder === undefined) throw workersError(reason.message);
    const what = `another drawbridge workers command (process ${reason.holder}) is at work in ${directory}`;
    throw new Busy("DB_WORKERS", `${what}: wait for it, or delete ${path} if there is none`);
  } finally {
    // A command that came to nothing leaves nothing.
    if (made !== undefined) await rmdir(directory).catch(() => undefined);
  }
}

class Busy extends DrawbridgeError {}

/** Whether another command is at work in the directory, so that it can be done later. */
export function isBusy(reason: unknown): reason is DrawbridgeError {
  return reason instanceof Busy;
}

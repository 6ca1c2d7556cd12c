/** Makes and removes workers, one after the other; what was done is remembered before and after each, so that it can be resumed. */
import { DrawbridgeError } from "../../errors/error.js";
import { renderCommand, runCommand } from "./command-line.js";
import { gcloudCreate, gcloudDelete } from "./gcloud.js";
import { planWorkers, type Wish } from "./plan.js";
import type { PoolUserData } from "./pool-user-data.js";
import type { WorkerStore } from "./store.js";
import type { Worker } from "./worker.js";
import { workerUserData } from "./worker-user-data.js";

export interface Creation {
  readonly wish: Wish;
  readonly store: WorkerStore;
  readonly userData: PoolUserData;
  readonly template: Pick<Worker, "provider" | "shape" | "ownToken" | "createCommand" | "deleteCommand">;
  readonly setHostname: boolean;
  readonly ignitionAddress: string;
  readonly windowMs: number;
  readonly now: number;
  /** Records and writes user data, and leaves the machines to somebody else. */
  readonly dryRun: boolean;
  /** Of workers that should have one of their own. */
  readonly ownTokens: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** When the records are complete and before the first machine. */
  readonly beforeMachines?: (workers: readonly Worker[]) => Promise<void>;
}

export interface Made {
  readonly name: string;
  readonly zone: string;
  readonly userData: string;
  /** Empty where nothing is run. */
  readonly command: readonly string[];
  readonly action: "made" | "would be made" | "user data written" | "kept";
}

export async function createWorkers(creation: Creation): Promise<Made[]> {
  const { store, wish } = creation;
  const before = await store.read();
  const planned = planWorkers(before, wish).map((plan) => ({ ...creation.template, ...plan, ips: [] }));
  // With today's template: a command that failed may have been corrected.
  const unfinished = before
    .filter((worker) => isWished(worker, wish) && !worker.made)
    .map((worker) => ({ ...worker, ...creation.template }));
  const fresh = [...unfinished, ...planned].map((worker) => expected(worker, creation));
  const names = new Set(fresh.map(({ name }) => name));
  let all = [...before.filter(({ name }) => !names.has(name)), ...fresh];
  const tokens = await creation.ownTokens(fresh.filter(({ ownToken }) => ownToken).map(({ name }) => name));
  const tailored = fresh.map((worker) => ({ worker, text: tailor(worker.name, tokens, creation) }));
  await store.write(all);
  await creation.beforeMachines?.(all);
  const made: Made[] = before
    .filter((worker) => isWished(worker, wish) && worker.made)
    .map(({ name, zone }) => ({ name, zone, userData: store.userDataFile(name), command: [], action: "kept" }));
  for (const { text, worker } of tailored) {
    const userData = await store.writeUserData(worker.name, text);
    const command = createCommand(worker, userData);
    const isRun = command.length > 0 && !creation.dryRun;
    if (isRun) await runCommand(worker.name, command);
    // Nobody tells us about machines that people make; giving the same user data again does no harm.
    if (isRun || (worker.provider === "files" && !creation.dryRun)) {
      all = all.map((one) => (one.name === worker.name ? { ...worker, made: true } : one));
      await store.write(all);
    }
    const action = command.length === 0 ? "user data written" : isRun ? "made" : "would be made";
    made.push({ name: worker.name, zone: worker.zone, userData, command, action });
  }
  return made.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

export interface Removed {
  readonly name: string;
  readonly command: readonly string[];
  readonly action: "removed" | "would be removed" | "forgotten";
}

export async function deleteWorkers(store: WorkerStore, names: readonly string[], dryRun: boolean): Promise<Removed[]> {
  let all = await store.read();
  const unknown = names.find((name) => !all.some((worker) => worker.name === name));
  if (unknown !== undefined) throw new DrawbridgeError("DB_WORKERS", `there is no worker ${unknown}`);
  const removed: Removed[] = [];
  for (const worker of all.filter(({ name }) => names.includes(name))) {
    const command = worker.made ? deleteCommand(worker, store.userDataFile(worker.name)) : [];
    if (dryRun) {
      removed.push({ name: worker.name, command, action: "would be removed" });
      continue;
    }
    if (command.length > 0) await runCommand(worker.name, command);
    all = all.filter(({ name }) => name !== worker.name);
    await store.write(all);
    await store.removeUserData(worker.name);
    removed.push({ name: worker.name, command, action: command.length > 0 ? "removed" : "forgotten" });
  }
  return removed;
}

function isWished({ name, pool }: Worker, wish: Wish): boolean {
  const [, index] = new RegExp(`^${wish.prefix.replace(/[.]/g, "\\.")}-(\\d+)$`).exec(name) ?? [];
  return pool === wish.pool && index !== undefined && Number(index) < wish.count;
}

/** From now on. */
function expected(
  worker: Omit<Worker, "pool" | "hash" | "notBefore" | "deadline" | "made">,
  { now, userData, windowMs, wish }: Creation,
): Worker {
  const time = (at: number) => new Date(at).toISOString();
  return {
    ...worker,
    pool: wish.pool,
    hash: userData.hash,
    notBefore: time(now),
    deadline: time(now + windowMs),
    made: false,
  };
}

function tailor(name: string, tokens: ReadonlyMap<string, string>, creation: Creation): string {
  const { ignitionAddress, setHostname, userData } = creation;
  return workerUserData(userData.text, { name, setHostname, ignitionAddress, token: tokens.get(name) });
}

function createCommand(worker: Worker, userData: string): string[] {
  if (worker.provider === "gcloud") return gcloudCreate(worker, userData);
  return worker.provider === "command" ? renderCommand(worker.createCommand, worker, userData) : [];
}

function deleteCommand(worker: Worker, userData: string): string[] {
  if (worker.provider === "gcloud") return gcloudDelete(worker);
  return worker.provider === "command" ? renderCommand(worker.deleteCommand, worker, userData) : [];
}

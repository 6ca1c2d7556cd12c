/** Makes and removes workers one after the other. Each step is recorded, so that a command that was killed can be repeated. */

import { execFile } from "node:child_process";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { WorkerStore } from "./store.js";
import { type PoolUserData, workerUserData } from "./user-data.js";
import { isInGroup, planWorkers, type Worker, type WorkerGroup, workersError } from "./worker.js";

export interface MakeOptions {
  readonly store: WorkerStore;
  readonly userData: PoolUserData;
  readonly joinWithinMs: number;
  readonly now: number;
  /** Changes nothing and returns what would be done. */
  readonly dryRun: boolean;
  /** Of workers that should have one of their own. */
  readonly ownTokens: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** When the records are complete and before the first machine. */
  readonly beforeMachines?: (workers: readonly Worker[]) => Promise<void>;
  readonly onMade?: (made: MadeWorker) => void;
}

/** What workers that are made together have in common. */
export type MachineTemplate = Pick<
  Worker,
  "provider" | "shape" | "ownToken" | "createCommand" | "deleteCommand" | "setHostname" | "ignitionAddress"
>;

interface CreateOptions extends MakeOptions {
  readonly group: WorkerGroup;
  readonly template: MachineTemplate;
}

export interface MadeWorker {
  readonly name: string;
  readonly zone: string;
  readonly userData: string;
  /** Empty where nothing is run. */
  readonly command: readonly string[];
  readonly action: "made" | "would be made" | "user data written" | "kept";
}

/** A worker that is not recorded yet. */
export type NewWorker = Omit<Worker, "hash" | "notBefore" | "deadline" | "made">;

export async function createWorkers(creation: CreateOptions): Promise<MadeWorker[]> {
  const { store, template, group } = creation;
  const before = await store.read();
  const planned = planWorkers(before, group, await store.numbers()).map((plan) => ({
    ...{ ...template, ...plan },
    ...{ pool: group.pool, ips: [] },
  }));
  const own = before.filter((worker) => isInGroup(worker, group));
  // With today's template: a command that failed may have been corrected.
  const unfinished = own
    .filter(({ leaving, made }) => !made && leaving === undefined)
    .map((worker) => ({ ...worker, ...template }));
  const kept: MadeWorker[] = own
    .filter(({ made }) => made)
    .map(({ name, zone }) => ({ name, zone, userData: store.userDataFile(name), command: [], action: "kept" }));
  const made = await makeWorkers(creation, [...unfinished, ...planned]);
  return [...kept, ...made].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Records them all, instead of workers that they replace and that are gone, and makes their machines. */
export async function makeWorkers(making: MakeOptions, drafts: readonly NewWorker[]): Promise<MadeWorker[]> {
  const { store } = making;
  const fresh = drafts.map((draft) => recordOf(draft, making));
  if (making.dryRun) return fresh.map((worker) => dryRunOf(worker, store));
  const names = new Set(fresh.map(({ name }) => name));
  const tokens = await making.ownTokens(fresh.filter(({ ownToken }) => ownToken).map(({ name }) => name));
  const tailored = fresh.map((worker) => ({ worker, text: userDataFor(worker, tokens, making) }));
  const all = await store.change((before) => [
    ...before.filter(({ name }) => !names.has(name) && !fresh.some(({ replaces }) => replaces === name)),
    ...fresh,
  ]);
  await making.beforeMachines?.(all);
  const done: MadeWorker[] = [];
  for (const { text, worker } of tailored) {
    const userData = await store.writeUserData(worker.name, text);
    const command = machineCommand("create", worker, userData);
    const isRun = command.length > 0;
    if (isRun) await runMachineCommand("create", worker, command);
    // Machines that people make are not reported to us; giving the same user data again does no harm.
    if (isRun || worker.provider === "files") {
      await store.change((workers) => workers.map((one) => (one.name === worker.name ? { ...one, made: true } : one)));
    }
    const action = isRun ? "made" : "user data written";
    const made: MadeWorker = { name: worker.name, zone: worker.zone, userData, command, action };
    making.onMade?.(made);
    done.push(made);
  }
  return done;
}

function dryRunOf(worker: Worker, store: WorkerStore): MadeWorker {
  const { name, zone } = worker;
  const userData = store.userDataFile(name);
  return { name, zone, userData, command: machineCommand("create", worker, userData), action: "would be made" };
}

interface RemovedWorker {
  readonly name: string;
  readonly command: readonly string[];
  readonly action: "removed" | "would be removed" | "forgotten";
}

/** `publish` gets the remaining workers after each: a removal that fails must not keep the removed ones expected. */
export async function deleteWorkers(
  store: WorkerStore,
  names: readonly string[],
  dryRun: boolean,
  publish: (left: readonly Worker[]) => Promise<void> = async () => {},
): Promise<RemovedWorker[]> {
  const removed: RemovedWorker[] = [];
  for (const worker of await knownWorkers(store, names)) {
    const command = worker.made ? machineCommand("delete", worker, store.userDataFile(worker.name)) : [];
    if (dryRun) {
      removed.push({ name: worker.name, command, action: "would be removed" });
      continue;
    }
    if (command.length > 0) await runMachineCommand("delete", worker, command);
    const left = await store.change((workers) => workers.filter(({ name }) => name !== worker.name));
    await store.removeUserData(worker.name);
    await publish(left);
    removed.push({ name: worker.name, command, action: command.length > 0 ? "removed" : "forgotten" });
  }
  return removed;
}

/** Throws for a name that is not recorded. */
export async function knownWorkers(store: WorkerStore, names: readonly string[]): Promise<Worker[]> {
  const all = await store.read();
  const unknown = names.find((name) => !all.some((worker) => worker.name === name));
  if (unknown !== undefined) throw unknownWorker(unknown, all);
  return all.filter(({ name }) => names.includes(name));
}

export function unknownWorker(name: string, all: readonly Worker[]): DrawbridgeError {
  const known = all.slice(0, 20).map((worker) => worker.name);
  const there = known.length === 0 ? "none is recorded" : `there is ${known.join(", ")}`;
  return new DrawbridgeError("DB_WORKERS", `there is no worker ${name}: ${there}${all.length > 20 ? ", ..." : ""}`);
}

/** From now on. */
function recordOf(draft: NewWorker, { now, userData, joinWithinMs }: MakeOptions): Worker {
  const time = (at: number) => new Date(at).toISOString();
  return { ...draft, hash: userData.hash, notBefore: time(now), deadline: time(now + joinWithinMs), made: false };
}

function userDataFor(worker: Worker, tokens: ReadonlyMap<string, string>, { userData }: MakeOptions): string {
  const { ignitionAddress = "", name, setHostname = true } = worker;
  return workerUserData(userData.text, { name, setHostname, ignitionAddress, token: tokens.get(name) });
}

type Verb = "create" | "delete";

/** The command that makes or removes a worker's machine; empty where people do it. */
export function machineCommand(verb: Verb, worker: Worker, userData: string): string[] {
  if (worker.provider === "gcloud") return verb === "create" ? gcloudCreate(worker, userData) : gcloudDelete(worker);
  if (worker.provider !== "command") return [];
  return renderCommand(verb === "create" ? worker.createCommand : worker.deleteCommand, worker, userData);
}

/** Somebody was killed after the machine was made, or was gone, and before that was written down. */
const alreadyDone: Readonly<Record<Verb, RegExp>> = { create: /already exists/, delete: /was not found/ };

export async function runMachineCommand(verb: Verb, worker: Worker, command: readonly string[]): Promise<void> {
  try {
    await runCommand(worker.name, command);
  } catch (reason) {
    if (worker.provider === "gcloud" && alreadyDone[verb].test(messageOf(reason))) return;
    throw reason;
  }
}

export function gcloudCreate({ name, shape, zone }: Worker, userDataFile: string): string[] {
  if (zone === "") throw new DrawbridgeError("DB_WORKERS", `gcloud needs a zone for ${name}: give --zones`);
  const optional = (flag: string, value: string) => (value === "" ? [] : [`--${flag}=${value}`]);
  return [
    ...["gcloud", "compute", "instances", "create", name, `--zone=${zone}`],
    ...optional("project", shape.project),
    ...optional("machine-type", shape.machineType),
    ...optional("subnet", shape.subnet),
    ...optional("image", shape.image),
    ...optional("image-project", shape.imageProject),
    ...optional("boot-disk-size", shape.diskGb === "" ? "" : `${shape.diskGb}GB`),
    // From a file: everybody on the machine can read a command line.
    `--metadata-from-file=user-data=${userDataFile}`,
    "--quiet",
  ];
}

export function gcloudDelete({ name, shape, zone }: Worker): string[] {
  const project = shape.project === "" ? [] : [`--project=${shape.project}`];
  return ["gcloud", "compute", "instances", "delete", name, `--zone=${zone}`, ...project, "--quiet"];
}

export const placeholders = [
  "name",
  "pool",
  "zone",
  "userdata",
  "machine-type",
  "disk",
  "subnet",
  "image",
  "image-project",
  "project",
] as const;

const TIMEOUT_MS = 15 * 60_000;

/** Words are separated by blanks unless quoted; there are no variables and no escapes but \ inside double quotes. */
export function splitCommand(text: string): string[] {
  const words: string[] = [];
  const pattern = /\s*((?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"])+)/gy;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    words.push(
      match[1]!.replace(
        /'([^']*)'|"((?:\\.|[^"\\])*)"/g,
        (_, single, double) => single ?? double.replace(/\\(.)/g, "$1"),
      ),
    );
    end = match.index + match[0].length;
  }
  if (text.slice(end).trim() !== "") throw workersError(`a quote is not closed: ${text.slice(end).trim()}`);
  if (words.length === 0) throw workersError("the command is empty");
  const unknown = [...text.matchAll(/\{([a-z-]+)\}/g)].find(
    ([, name]) => !placeholders.some((known) => known === name),
  );
  if (unknown !== undefined) {
    throw workersError(`${unknown[0]} is not known; there are ${placeholders.map((name) => `{${name}}`).join(" ")}`);
  }
  return words;
}

export function renderCommand(
  template: readonly string[],
  { name, pool, shape, zone }: Worker,
  userdata: string,
): string[] {
  const values: Readonly<Record<string, string>> = {
    name,
    pool,
    zone,
    userdata,
    "machine-type": shape.machineType,
    disk: shape.diskGb,
    subnet: shape.subnet,
    image: shape.image,
    "image-project": shape.imageProject,
    project: shape.project,
  };
  return template.map((word) => word.replace(/\{([a-z-]+)\}/g, (all, key: string) => values[key] ?? all));
}

/** As a person could type it. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

export async function runCommand(worker: string, words: readonly string[]): Promise<void> {
  const [program = "", ...args] = words;
  await new Promise<void>((resolve, reject) => {
    execFile(program, args, { timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const said = stderr.trim().split("\n").at(-1) || error.message.split("\n")[0];
      reject(workersError(`${program} failed for ${worker}: ${said}`));
    });
  });
}

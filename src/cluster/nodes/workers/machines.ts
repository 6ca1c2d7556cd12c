/** Makes and removes workers one after the other. Each step is recorded, so that a command that was killed can be repeated. */

import type { DrawbridgeError } from "../../../base/errors/error.js";
import { runCommand } from "../../../base/run-command.js";
import type { ObjectName } from "../objects.js";
import { ensureTokens, type PoolUserData, workerUserData } from "../token/user-data.js";
import { eachOf } from "./each-of.js";
import { type Clusters, listNodes } from "./status.js";
import { AT_ONCE, NameTaken, type WorkerStore } from "./store.js";
import {
  type Addresses,
  isInGroup,
  planWorkers,
  usedNumbers,
  type Worker,
  type WorkerGroup,
  workersError,
} from "./worker.js";

export interface MakeOptions {
  readonly clusters: Clusters;
  readonly pool: ObjectName;
  readonly store: WorkerStore;
  /** How long a new worker may take to ask for its certificate. */
  readonly joinWithinMs: number;
  readonly userData: PoolUserData;
  readonly now: number;
  /** Changes nothing and returns what would be done. */
  readonly dryRun: boolean;
  /** Whether workers of these names are installed again: each gets one more first certificate. */
  readonly reinstall?: boolean;
  readonly onMade?: (made: MadeWorker) => void;
}

/** The settings that workers made together have in common. */
export interface MachineTemplate
  extends Pick<
    Worker,
    "provider" | "shape" | "createCommand" | "deleteCommand" | "setHostname" | "ignitionAddress" | "networks"
  > {
  /** If undefined, workers get tokens of their own when the Ignition server is ours: others know no such tokens. */
  readonly ownToken: boolean | undefined;
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

const ATTEMPTS = 5;

export async function createWorkers(options: MakeOptions, group: WorkerGroup, machines: MachineTemplate) {
  const { dryRun, store, userData } = options;
  const template = { ...machines, ownToken: machines.ownToken ?? userData.isOurs };
  for (let left = ATTEMPTS; ; left--) {
    const before = await store.read();
    const nodes = await listNodes(options.clusters.nodes);
    const numbers = usedNumbers(await store.numbers(), [...nodes.keys()]);
    const plans = planWorkers(before, group, numbers);
    const own = before.filter((worker) => isInGroup(worker, group));
    const addresses = addressesOf(group, [...plans, ...own]);
    const reinstalled = reinstalledAt(options, group, plans, own, nodes);
    const planned = plans.map((plan) => ({ ...template, ...plan, pool: group.pool, ips: [], ...reinstalled }));
    // With today's template: a command that failed may have been corrected.
    const again = own
      .filter(({ leaving, made }) => reinstalled !== undefined || (!made && leaving === undefined))
      .map(({ leaving: _, ...worker }) => ({ ...worker, ...template, ...reinstalled }));
    const drafts = [...again, ...planned].map((draft) => ({ ...draft, ...addresses.get(draft.name) }));
    const kept = own.filter(({ made }) => made && reinstalled === undefined);
    try {
      const made = await makeWorkers(options, drafts);
      if (!dryRun) await giveAddresses(store, kept, addresses);
      const shown = kept.map(({ name, zone }): MadeWorker => {
        return { name, zone, userData: store.userDataFile(name), command: [], action: "kept" };
      });
      return [...shown, ...made].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    } catch (reason) {
      // Somebody else made workers of another group, or by hand, since they were listed.
      if (!(reason instanceof NameTaken) || left === 1) throw reason;
    }
  }
}

/** Throws for an address of a worker that is none of these. */
function addressesOf({ addresses = new Map() }: WorkerGroup, workers: readonly { readonly name: string }[]) {
  const names = new Set(workers.map(({ name }) => name));
  const unknown = [...addresses.keys()].find((name) => !names.has(name));
  if (unknown !== undefined) throw workersError(`${unknown} is none of these workers, so it gets no address`);
  return addresses;
}

async function giveAddresses(
  store: WorkerStore,
  workers: readonly Worker[],
  addresses: ReadonlyMap<string, Addresses>,
) {
  const meant = workers.filter(({ name }) => addresses.has(name));
  await eachOf(meant, AT_ONCE, ({ name }) => store.update(name, (worker) => ({ ...worker, ...addresses.get(name) })));
}

/** Throws when a name of a worker's own belongs to a node, or was used before and is not to be used again. */
function reinstalledAt(
  { now, reinstall = false, store }: MakeOptions,
  { names = [] }: WorkerGroup,
  plans: readonly { readonly name: string }[],
  own: readonly Worker[],
  nodes: ReadonlyMap<string, unknown>,
): Pick<Worker, "reinstalled"> | undefined {
  const node = plans.find(({ name }) => nodes.has(name))?.name;
  if (node !== undefined) {
    const how = `drawbridge workers adopt ${node} makes it a worker as it is`;
    throw workersError(`there is a node ${node} already: ${how}, or delete the node first`);
  }
  const busy = reinstall ? own.find(({ name }) => nodes.has(name)) : undefined;
  if (busy !== undefined) {
    throw workersError(
      `there is a node ${busy.name}: drawbridge workers replace ${busy.name} --same-name drains it first`,
    );
  }
  for (const name of reinstall ? [] : names) {
    const removed = store.removedAt(name);
    if (removed === undefined) continue;
    const why = `its machine may have certificates that live for a year`;
    throw workersError(`${name} was removed at ${removed}, and ${why}: --reinstall uses the name again all the same`);
  }
  return reinstall ? { reinstalled: new Date(now).toISOString() } : undefined;
}

/** Records them all, instead of workers that they replace and that are gone, and makes their machines. */
export async function makeWorkers(options: MakeOptions, drafts: readonly NewWorker[]): Promise<MadeWorker[]> {
  const { clusters, dryRun, joinWithinMs, now, onMade, pool, store, userData } = options;
  const time = (at: number) => new Date(at).toISOString();
  const record = { hash: userData.hash, notBefore: time(now), deadline: time(now + joinWithinMs), made: false };
  const fresh = drafts.map((draft): Worker => ({ ...draft, ...record }));
  const madeOf = (worker: Worker, action?: MadeWorker["action"]): MadeWorker => {
    const file = store.userDataFile(worker.name);
    const command = machineCommand("create", worker, file);
    const usual = command.length > 0 ? "made" : "user data written";
    return { name: worker.name, zone: worker.zone, userData: file, command, action: action ?? usual };
  };
  if (dryRun) return fresh.map((worker) => madeOf(worker, "would be made"));
  for (const worker of fresh) machineCommand("create", worker, "");
  const known = new Set((await store.read()).map(({ name }) => name));
  const isKnown = ({ name }: Worker) => known.has(name);
  const revived = new Set(
    fresh.filter(({ name, reinstalled }) => reinstalled !== undefined && store.removedAt(name) !== undefined),
  );
  await store.create(fresh.filter((worker) => !isKnown(worker) && !revived.has(worker)));
  await eachOf([...revived], AT_ONCE, (worker) => store.revive(worker));
  await eachOf(fresh.filter(isKnown), AT_ONCE, (worker) => store.update(worker.name, () => worker));
  const replaced = fresh.flatMap(({ replaces = "" }) => (known.has(replaces) ? [replaces] : []));
  await eachOf(replaced, AT_ONCE, (name) => store.forget(name));
  // After the workers: somebody else's name must not get a token.
  const holders = fresh.filter(({ ownToken }) => ownToken);
  const tokens = holders.length === 0 ? undefined : await ensureTokens(clusters.pools, pool, holders);
  const texts = fresh.map((worker) => workerUserData(userData.text, worker, tokens?.get(worker.name)));
  const done: MadeWorker[] = [];
  for (const [index, worker] of fresh.entries()) {
    store.requireLock();
    await store.writeUserData(worker.name, texts[index]!);
    const made = madeOf(worker);
    const isRun = made.command.length > 0;
    if (isRun) await runMachineCommand("create", worker, made.command);
    // Machines that people make are not reported to us; giving the same user data again does no harm.
    if (isRun || worker.provider === "files") await store.update(worker.name, (one) => ({ ...one, made: true }));
    onMade?.(made);
    done.push(made);
  }
  return done;
}

export async function deleteWorkers(store: WorkerStore, names: readonly string[], dryRun: boolean) {
  const removed = [];
  const workers = await knownWorkers(store, names);
  const planned = workers.map((worker) => ({
    worker,
    command: worker.made ? machineCommand("delete", worker, store.userDataFile(worker.name)) : [],
  }));
  for (const { command, worker } of planned) {
    const action = dryRun ? "would be removed" : command.length > 0 ? "removed" : "forgotten";
    removed.push({ name: worker.name, command, action });
    if (dryRun) continue;
    if (command.length > 0) await runMachineCommand("delete", worker, command);
    await store.forget(worker.name);
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
  return workersError(`there is no worker ${name}: ${there}${all.length > 20 ? ", ..." : ""}`);
}

type Verb = "create" | "delete";

/** The command that makes or removes a worker's machine; empty where people do it. */
export function machineCommand(verb: Verb, worker: Worker, userData: string): string[] {
  if (worker.provider === "gcloud") return gcloudCommand(verb, worker, userData);
  if (worker.provider !== "command") return [];
  const template = verb === "create" ? worker.createCommand : worker.deleteCommand;
  if (template.length === 0 && (verb === "create" || worker.removedByCommand === true)) {
    const why = "commands stay on the disk of whoever gave them, and are not in this --state";
    throw workersError(
      `which command ${verb === "create" ? "makes" : "removes"} ${worker.name}? ${why}: give --${verb}-command`,
    );
  }
  return renderCommand(template, worker, userData);
}

/** Somebody was killed after the machine was made, or was gone, and before that was written down. */
const ALREADY_DONE: Readonly<Record<Verb, RegExp>> = { create: /already exists/, delete: /was not found/ };

export async function runMachineCommand(verb: Verb, worker: Worker, command: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand(command, { timeoutMs: TIMEOUT_MS });
  const problem = stderr.trim().split("\n").at(-1) || `it ended with ${code}`;
  if (code === 0 || (worker.provider === "gcloud" && ALREADY_DONE[verb].test(problem))) return;
  throw workersError(`${command[0]} failed for ${worker.name}: ${problem}`);
}

export function gcloudCommand(verb: Verb, { name, shape, zone }: Worker, userDataFile: string): string[] {
  const optional = (flag: string, value: string) => (value === "" ? [] : [`--${flag}=${value}`]);
  const head = ["gcloud", "compute", "instances", verb, name, `--zone=${zone}`, ...optional("project", shape.project)];
  if (verb === "delete") return [...head, "--quiet"];
  if (zone === "") throw workersError(`gcloud needs a zone for ${name}: give --zones`);
  return [
    ...head,
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

/** The placeholders of --create-command and --delete-command. */
const placeholderValues: Readonly<Record<string, (worker: Worker, userData: string) => string>> = {
  name: ({ name }) => name,
  pool: ({ pool }) => pool,
  zone: ({ zone }) => zone,
  userdata: (_, userData) => userData,
  "machine-type": ({ shape }) => shape.machineType,
  disk: ({ shape }) => shape.diskGb,
  subnet: ({ shape }) => shape.subnet,
  image: ({ shape }) => shape.image,
  "image-project": ({ shape }) => shape.imageProject,
  project: ({ shape }) => shape.project,
};

/** `{name} {pool} ...`. */
export const PLACEHOLDERS_TEXT = Object.keys(placeholderValues)
  .map((name) => `{${name}}`)
  .join(" ");

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
  const unknown = [...text.matchAll(PLACEHOLDER)].find(([, name = ""]) => !Object.hasOwn(placeholderValues, name));
  if (unknown !== undefined) throw workersError(`${unknown[0]} is not known; there are ${PLACEHOLDERS_TEXT}`);
  return words;
}

const PLACEHOLDER = /\{([a-z-]+)\}/g;

export function renderCommand(template: readonly string[], worker: Worker, userData: string): string[] {
  return template.map((word) =>
    word.replace(PLACEHOLDER, (all, key: string) => placeholderValues[key]?.(worker, userData) ?? all),
  );
}

/** The command as a person could type it. */
export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Makes and removes workers one after the other. Each step is recorded, so that a command that was killed can be repeated. */

import type { DrawbridgeError } from "../../../base/errors/error.js";
import type { ObjectName } from "../objects.js";
import { machineSteps } from "../providers/index.js";
import type { MachineStep } from "../providers/provider.js";
import { requireTools, runSteps } from "../providers/run.js";
import { ensureTokens, type PoolUserData, workerUserData } from "../token/user-data.js";
import { eachOf } from "./each-of.js";
import { type Clusters, listNodes } from "./status.js";
import { AT_ONCE, NameTaken, type WorkerStore } from "./store.js";
import {
  type Addresses,
  type HostSettings,
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
    keyof HostSettings | "provider" | "shape" | "setHostname" | "ignitionAddress" | "networks" | "hasCreateArguments"
  > {
  /** If undefined, workers get tokens of their own when the Ignition server is ours: others know no such tokens. */
  readonly ownToken: boolean | undefined;
}

export interface MadeWorker {
  readonly name: string;
  readonly zone: string;
  readonly userData: string;
  /** What makes its machine; empty where nothing is run. */
  readonly commands: readonly (readonly string[])[];
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
    const reinstalled = await reinstalledAt(options, group, plans, own, nodes);
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
        return { name, zone, userData: store.userDataFile(name), commands: [], action: "kept" };
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
async function reinstalledAt(
  { dryRun, now, reinstall = false, store }: MakeOptions,
  { names = [] }: WorkerGroup,
  plans: readonly { readonly name: string }[],
  own: readonly Worker[],
  nodes: ReadonlyMap<string, unknown>,
): Promise<Pick<Worker, "reinstalled"> | undefined> {
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
  if (!reinstall) return undefined;
  return { reinstalled: dryRun ? new Date(now).toISOString() : await store.installationTime() };
}

/** Records them all, instead of workers that they replace and that are gone, and makes their machines. */
export async function makeWorkers(options: MakeOptions, drafts: readonly NewWorker[]): Promise<MadeWorker[]> {
  const { clusters, dryRun, joinWithinMs, now, onMade, pool, store, userData } = options;
  const time = (at: number) => new Date(at).toISOString();
  const record = { hash: userData.hash, notBefore: time(now), deadline: time(now + joinWithinMs), made: false };
  const fresh = drafts.map((draft): Worker => ({ ...draft, ...record }));
  const plans = fresh.map((worker) => {
    const file = store.userDataFile(worker.name);
    const steps = machineSteps("create", worker, file);
    const usual = steps.length > 0 ? "made" : "user data written";
    const commands = steps.map(({ command }) => command);
    const made: MadeWorker = {
      ...{ name: worker.name, zone: worker.zone, userData: file, commands },
      action: dryRun ? "would be made" : usual,
    };
    return { worker, steps, made };
  });
  if (dryRun) return plans.map(({ made }) => made);
  await requireTools(plans.flatMap(({ steps }) => steps));
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
  for (const [index, { made, steps, worker }] of plans.entries()) {
    store.requireLock();
    await store.writeUserData(worker.name, texts[index]!);
    await runSteps(worker.name, steps);
    // Machines that people make are not reported to us; giving the same user data again does no harm.
    await store.update(worker.name, (one) => ({ ...one, made: true }));
    onMade?.(made);
    done.push(made);
  }
  return done;
}

export async function deleteWorkers(store: WorkerStore, names: readonly string[], dryRun: boolean) {
  const removed = [];
  const workers = await knownWorkers(store, names);
  const planned = workers.map((worker) => ({ worker, steps: removalSteps(store, worker) }));
  if (!dryRun) await requireTools(planned.flatMap(({ steps }) => steps));
  for (const { steps, worker } of planned) {
    const action = dryRun ? "would be removed" : steps.length > 0 ? "removed" : "forgotten";
    removed.push({ name: worker.name, commands: steps.map(({ command }) => command), action });
    if (dryRun) continue;
    await runSteps(worker.name, steps);
    await store.forget(worker.name);
  }
  return removed;
}

/** What removes the machine of a worker, which may be there though its creation failed; nothing where people do it. */
export function removalSteps(store: WorkerStore, worker: Worker): readonly MachineStep[] {
  return machineSteps("delete", worker, store.userDataFile(worker.name));
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

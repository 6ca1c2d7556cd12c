/** Brings the workers of a pool up, scales and replaces them. Each step finds what an earlier run has done. */

import { deleteIfPresent } from "../../kube/objects.js";
import { isReady } from "../../kube/pods.js";
import type { KubeObject } from "../../kube/port.js";
import { applyObjects } from "../controller/apply-objects.js";
import { type Node, pathOf } from "../objects.js";
import { machineSteps } from "../providers/index.js";
import { requireTools, runSteps } from "../providers/run.js";
import { poolHash, poolUserData, revokeTokens, UserDataMissing } from "../token/user-data.js";
import { type ApprovalMode, approving } from "./approving.js";
import type { Deadline } from "./deadline.js";
import { eachOf } from "./each-of.js";
import {
  createWorkers,
  type MachineTemplate,
  type MakeOptions,
  makeWorkers,
  type NewWorker,
  removalSteps,
  unknownWorker,
} from "./machines.js";
import { cordon, type DrainRules, drain, nodePath, requireDrainable } from "./node.js";
import { configurationOf, listNodes, poolReport } from "./status.js";
import { AT_ONCE } from "./store.js";
import { awaitWorkers, type VerifyOptions, verifyWorkers } from "./verify.js";
import {
  isInGroup,
  numbered,
  planWorkers,
  usedNumbers,
  type Worker,
  type WorkerGroup,
  workersError,
} from "./worker.js";

export interface WorkersContext extends Pick<MakeOptions, "clusters" | "pool" | "store" | "joinWithinMs"> {
  readonly deadline: Deadline;
  readonly rules: DrainRules;
  readonly drainMs: number;
  /** How many workers may be missing at a time. */
  readonly maxUnavailable: number;
  readonly approval: ApprovalMode;
}

/** Options with the pool's current user data; rejects, before anything is changed, when it has none. */
export async function makeOptionsFor(context: WorkersContext): Promise<MakeOptions> {
  const { clusters, deadline, pool } = context;
  const userData = await deadline.poll(`the user data of ${pool.name}`, () => poolUserData(clusters.pools, pool));
  return {
    ...{ ...context, userData, now: deadline.clock.date(), dryRun: false },
    onMade: ({ action, name, userData: file }) => {
      const what = action === "made" ? "its machine is made" : `boot its machine with the user data in ${file}`;
      deadline.progress.log(`${name}: ${what}`);
    },
  };
}

/** Records that workers leave before they are taken out of service: the next run after a kill must know it. */
export async function markLeaving(context: WorkersContext, names: readonly string[], leaving: "removed" | "replaced") {
  await eachOf(names, AT_ONCE, (name) => context.store.update(name, (worker) => ({ ...worker, leaving })));
}

/** Takes a worker out of service, and its name out of use. */
export async function removeWorker(worker: Worker, context: WorkersContext): Promise<void> {
  const { deadline, store } = context;
  await takeOutOfService(worker, context);
  await deadline.retry(`${worker.name}: its record`, () => store.forget(worker.name));
  deadline.progress.log(`${worker.name} is removed`);
}

/** Takes a worker out of service for good: cordon, drain, machine, Node. Every step can be repeated. */
async function takeOutOfService(worker: Worker, context: WorkersContext): Promise<void> {
  const { clusters, drainMs, deadline, pool, rules, store } = context;
  const { name } = worker;
  const { log } = deadline.progress;
  const node = await deadline.retry(`cordoning ${name}`, () => cordon(clusters.nodes, name));
  if (node !== undefined) {
    log(`${name}: its node is cordoned`);
    await drain(clusters.nodes, node, rules, deadline.within(drainMs));
    log(`${name}: its node is drained`);
  }
  store.requireLock();
  // First: a machine that is on its way out must not be able to come back as another.
  if (worker.ownToken) {
    await deadline.retry(`${name}: revoking its token`, () => revokeTokens(clusters.pools, pool, [name]));
  }
  store.requireLock();
  const steps = removalSteps(store, worker);
  await runSteps(worker.name, steps);
  const byHand = `switch its machine off ${worker.made ? "now" : "if there is one"}`;
  log(`${name}: ${steps.length > 0 ? "its machine is removed" : byHand}`);
  // Only now: without its Node nobody would see a machine that still runs.
  await deadline.retry(`${name}: deleting its Node`, () => deleteIfPresent(clusters.nodes, nodePath(name)));
}

interface UpOptions extends Pick<VerifyOptions, "pod"> {
  /** The pool and the objects it refers to; empty when they are in the cluster already. */
  readonly objects: readonly KubeObject[];
  readonly group: WorkerGroup;
  readonly template: MachineTemplate;
}

export type WorkersUpResult = Awaited<ReturnType<typeof bringUpWorkers>>;

/** Applies the objects, waits for user data, and makes, admits, labels and verifies the workers. */
export async function bringUpWorkers(context: WorkersContext, options: UpOptions) {
  const { group, objects, pod, template } = options;
  const { clusters, deadline, store } = context;
  const outcomes = await applyObjects(clusters.pools, objects, { dryRun: false, force: false });
  for (const { action, object } of outcomes) deadline.progress.log(`${object} ${action}`);
  await prepare(context, group);
  return approving(context, async () => {
    const made = await createWorkers(await makeOptionsFor(context), group, template);
    const workers = (await store.read()).filter((worker) => isInGroup(worker, group));
    return { made, verdict: await verifyWorkers({ ...context, workers, pod, labelsNodes: true }) };
  });
}

/** Rejects, before anything is made, when the workers cannot be made; waits for user data of a pool that is new. */
export async function prepare(context: WorkersContext, group: WorkerGroup): Promise<void> {
  const workers = await context.store.read();
  planWorkers(workers, group, await context.store.numbers());
  const leaving = workers.find((worker) => isInGroup(worker, group) && worker.leaving !== undefined);
  if (leaving !== undefined) {
    const command = leaving.leaving === "replaced" ? `replace ${leaving.name}` : "scale";
    throw workersError(`${leaving.name} is being ${leaving.leaving}: first go on with drawbridge workers ${command}`);
  }
  await awaitUserData(context);
}

async function awaitUserData({ clusters: { pools }, deadline, pool }: WorkersContext): Promise<void> {
  const what = `waiting for user data of pool ${pool.name}`;
  await deadline.poll(what, async () => {
    try {
      const { hash } = await poolUserData(pools, pool);
      deadline.progress.log(`pool ${pool.name} has user data, hash ${hash}`);
      return true;
    } catch (reason) {
      if (!(reason instanceof UserDataMissing)) throw reason;
    }
    const { hash, object } = await poolHash(pools, pool);
    const { problems } = poolReport(pool.name, { pool: object, hash });
    deadline.progress.status(`${what}: ${problems[0]?.message ?? "its Secret is missing"}`);
    return undefined;
  });
}

/** The hash of the pool's configuration; empty while it has none. */
async function hashOf({ clusters, deadline, pool }: WorkersContext): Promise<string> {
  return (await deadline.poll(`pool ${pool.name}`, () => poolHash(clusters.pools, pool))).hash;
}

function nodesOf({ clusters, deadline }: WorkersContext): Promise<ReadonlyMap<string, Node>> {
  return deadline.poll("the nodes", () => listNodes(clusters.nodes));
}

type ScalePlan = Awaited<ReturnType<typeof planScale>>;

/** Which workers leave, and which are made: new ones, and those that an earlier run left unfinished. Nothing is changed. */
export async function planScale(context: WorkersContext, wanted: Omit<WorkerGroup, "zones">) {
  const { store } = context;
  const all = await store.read();
  const own = all.filter((worker) => isInGroup(worker, wanted));
  if (own.length === 0) {
    const how = "drawbridge workers up makes the first ones";
    throw workersError(`there are no workers of ${wanted.pool} called ${wanted.prefix}-...: ${how}`);
  }
  const replaced = own.find(({ leaving }) => leaving === "replaced");
  if (replaced !== undefined) {
    throw workersError(
      `${replaced.name} is being replaced: first go on with drawbridge workers replace ${replaced.name}`,
    );
  }
  const group: WorkerGroup = { ...wanted, zones: [...new Set(own.map(({ zone }) => zone).filter(Boolean))].sort() };
  const [hash, nodes] = [await hashOf(context), await nodesOf(context)];
  const staying = own.filter(({ leaving }) => leaving === undefined);
  const tooMany = Math.max(0, staying.length - group.count);
  const chosen = [...staying]
    .sort((a, b) => removalRank(a, nodes, hash) - removalRank(b, nodes, hash))
    .slice(0, tooMany);
  const leave = own.filter((worker) => worker.leaving !== undefined || chosen.includes(worker));
  const left = all.filter((worker) => !leave.includes(worker));
  const planned = group.count === 0 ? [] : planWorkers(left, group, await store.numbers());
  const unfinished = left.filter((worker) => isInGroup(worker, group) && !worker.made);
  return { group, leave: leave.map(({ name }) => name), make: [...unfinished, ...planned].map(({ name }) => name) };
}

export async function scale(context: WorkersContext, plan: ScalePlan): Promise<void> {
  if (plan.make.length === 0) await carryOutPlan(context, plan);
  else await approving(context, () => carryOutPlan(context, plan));
}

async function carryOutPlan(context: WorkersContext, { leave, make, group }: ScalePlan): Promise<void> {
  const { clusters, maxUnavailable, deadline, rules, store } = context;
  const making = make.length === 0 ? undefined : await makeOptionsFor(context);
  await deadline.retry("the pods", () => requireDrainable(clusters.nodes, leave, rules));
  await requireTools(leavingOf(await store.read(), leave).flatMap((worker) => removalSteps(store, worker)));
  const template = templateOf((await store.read()).filter((worker) => isInGroup(worker, group)));
  await markLeaving(context, leave, "removed");
  const workers = leavingOf(await store.read(), leave);
  await eachOf(workers, maxUnavailable, (worker) => removeWorker(worker, context));
  if (making !== undefined && template !== undefined) await createWorkers(making, group, template);
  const own = (await store.read()).filter((worker) => isInGroup(worker, group));
  if (make.length > 0) await awaitWorkers({ ...context, workers: own.filter(({ name }) => make.includes(name)) });
}

function leavingOf(workers: readonly Worker[], names: readonly string[]): Worker[] {
  return workers.filter(({ name }) => names.includes(name));
}

/** Workers with the lowest rank are removed first: those that are not Ready, then those that are behind, then the youngest. */
export function removalRank(worker: Worker, nodes: ReadonlyMap<string, Node>, hash: string): number {
  const node = nodes.get(worker.name);
  const isBehind = configurationOf(worker, node, hash) === "behind";
  return (isReady(node) ? 2e9 : 0) + (isBehind ? 0 : 1e9) - (numbered(worker.name)?.number ?? 0);
}

/** The settings with which the newest worker was made. */
function templateOf(own: readonly Worker[]): MachineTemplate | undefined {
  const worker = [...own].sort((a, b) => (a.notBefore < b.notBefore ? 1 : -1))[0];
  if (worker === undefined) return undefined;
  const { connection, createArguments, createCommand, deleteCommand, hasCreateArguments } = worker;
  const { ignitionAddress = "", networks = [], ownToken, provider, setHostname = true, shape } = worker;
  return {
    ...{ provider, shape, ownToken, createCommand, deleteCommand, setHostname, ignitionAddress, networks },
    ...(connection !== undefined && { connection }),
    ...(createArguments && { createArguments }),
    ...(hasCreateArguments && { hasCreateArguments }),
  };
}

export interface Replacement {
  readonly old: string;
  readonly fresh: string;
  /** `begun`: its machine is there, or on its way, from an earlier run. */
  readonly state: "to be done" | "begun" | "done";
}

/** The replacements of these workers, those first whose nodes are not Ready. Nothing is changed. */
export async function planReplacements(
  context: WorkersContext,
  names: readonly string[],
  sameName = false,
): Promise<Replacement[]> {
  const { pool, store } = context;
  const [all, nodes] = [await store.read(), await nodesOf(context)];
  let numbers = await store.numbers();
  const plans = names.map((old): Replacement => {
    const successor = sameName ? undefined : all.find(({ replaces }) => replaces === old);
    if (successor !== undefined)
      return { old, fresh: successor.name, state: isDone(successor, nodes) ? "done" : "begun" };
    const worker = all.find(({ name }) => name === old);
    if (worker === undefined) throw unknownWorker(old, all);
    if (worker.pool !== pathOf(pool))
      throw workersError(`${old} is a worker of ${worker.pool}, not of ${pathOf(pool)}`);
    if (sameName) {
      const isBegun = worker.leaving === "replaced" || (worker.reinstalled !== undefined && !isDone(worker, nodes));
      return { old, fresh: old, state: isBegun ? "begun" : "to be done" };
    }
    const prefix = numbered(old)?.prefix ?? old;
    const fresh = `${prefix}-${numbers.get(prefix) ?? 0}`;
    numbers = usedNumbers(numbers, [fresh]);
    return { old, fresh, state: "to be done" };
  });
  const rank = ({ old, state }: Replacement) => (state === "to be done" && isReady(nodes.get(old)) ? 1 : 0);
  return plans.sort((a, b) => rank(a) - rank(b));
}

/** Workers of the pool whose configuration is not the current one, and those that an earlier run left unfinished. */
export async function workersBehind(context: WorkersContext): Promise<string[]> {
  const { pool, store } = context;
  const [hash, nodes] = [await hashOf(context), await nodesOf(context)];
  return (await store.read())
    .filter((worker) => worker.pool === pathOf(pool))
    .flatMap((worker) => {
      if (worker.replaces !== undefined && !isDone(worker, nodes)) return [worker.replaces];
      const isBehind = configurationOf(worker, nodes.get(worker.name), hash) === "behind";
      return isBehind || worker.leaving === "replaced" ? [worker.name] : [];
    });
}

export async function replaceWorkers(context: WorkersContext, plans: readonly Replacement[]): Promise<void> {
  const { clusters, maxUnavailable, deadline, rules, store } = context;
  await approving(context, async () => {
    // All of it before anything is changed: what cannot be finished is not begun.
    await makeOptionsFor(context);
    const leaving = plans.filter(({ state }) => state === "to be done").map(({ old }) => old);
    await deadline.retry("the pods", () => requireDrainable(clusters.nodes, leaving, rules));
    const workers = leavingOf(await store.read(), leaving);
    await requireTools(
      workers.flatMap((worker) => [...removalSteps(store, worker), ...machineSteps("create", worker, "")]),
    );
    const underWay = new Set<Replacement>();
    await eachOf(plans, maxUnavailable, async (plan) => {
      underWay.add(plan);
      await replaceOne(context, plan, underWay);
      underWay.delete(plan);
    });
  });
}

async function replaceOne(
  context: WorkersContext,
  { fresh, old, state }: Replacement,
  underWay: ReadonlySet<Replacement>,
) {
  const { deadline, store } = context;
  if (state === "done") return deadline.progress.log(`${old}: ${fresh} has its place already`);
  const all = await store.read();
  const worker = all.find(({ name }) => name === old);
  const isLeaving = worker !== undefined && (fresh !== old || state === "to be done" || worker.leaving !== undefined);
  if (isLeaving) {
    await requireRoom(context, worker, underWay);
    await markLeaving(context, [old], "replaced");
    await takeOutOfService(worker, context);
  }
  const isAgain = fresh === old && isLeaving;
  const successor = isAgain
    ? reinstalledOf(worker, await store.installationTime())
    : all.find(({ name }) => name === fresh);
  if (successor?.made !== true) {
    await makeWorkers(await makeOptionsFor(context), [successor ?? successorOf(worker!, fresh)]);
  }
  // A command that was killed at this point has left it behind.
  if (fresh !== old) await store.removeUserData(old);
  const workers = (await store.read()).filter(({ name }) => name === fresh);
  await awaitWorkers({ ...context, workers });
  deadline.progress.log(fresh === old ? `${old} is Ready again` : `${fresh} is Ready in the place of ${old}`);
}

/** The same worker on a machine that is installed again: what was approved before does not count any more. */
function reinstalledOf({ leaving: _, ...worker }: Worker, reinstalled: string): Worker {
  return { ...worker, made: false, reinstalled };
}

/** With the settings of the old machine, and nothing that was its own. */
function successorOf(worker: Worker, name: string): NewWorker {
  const { deadline: _, dnsNames: __, hash: ___, joined: ____, leaving: _____, made: ______, ...rest } = worker;
  const { notBefore: _a, readyAt: _b, reinstalled: _c, served: _d, ...draft } = rest;
  return { ...draft, name, ips: [], replaces: worker.name };
}

/** Rejects when too many workers would be missing. A worker that is not Ready may always be replaced. */
async function requireRoom(context: WorkersContext, worker: Worker, underWay: ReadonlySet<Replacement>): Promise<void> {
  const { maxUnavailable, store } = context;
  const nodes = await nodesOf(context);
  if (!isReady(nodes.get(worker.name))) return;
  const busy = [...underWay].flatMap(({ fresh, old }) => [fresh, old]);
  const others = (await store.read()).filter(({ name, pool }) => pool === worker.pool && !busy.includes(name));
  const missing = others.filter(({ name }) => !isReady(nodes.get(name))).map(({ name }) => name);
  if (missing.length === 0 || missing.length + underWay.size <= maxUnavailable) return;
  const why = `${missing.join(", ")} not Ready, and --max-unavailable is ${maxUnavailable}`;
  throw workersError(`${worker.name} is not touched: ${why}; replace or repair those first`);
}

function isDone({ made, name }: Worker, nodes: ReadonlyMap<string, Node>): boolean {
  return made && isReady(nodes.get(name));
}

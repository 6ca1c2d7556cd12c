/** Puts a fresh machine in the place of each worker, under a name of its own. */
import { type Node, pathOf } from "../objects.js";
import { approving } from "./approving.js";
import { eachOf, makeOptionsFor, markLeaving, takeOutOfService, type WorkersContext } from "./change.js";
import { requireDrainable } from "./drain.js";
import { makeWorkers, type NewWorker, unknownWorker } from "./machines.js";
import { isReady } from "./node.js";
import { configurationOf, listNodes } from "./status.js";
import { awaitWorkers } from "./verify.js";
import { numbered, usedNumbers, type Worker, workersError } from "./worker.js";

export interface Replacement {
  readonly old: string;
  readonly fresh: string;
  /** `begun`: its machine is there, or on its way, from an earlier run. */
  readonly state: "to be done" | "begun" | "done";
}

/** The replacements of these workers, those first whose nodes are not Ready. Nothing is changed. */
export async function planReplacements(context: WorkersContext, names: readonly string[]): Promise<Replacement[]> {
  const { clusters, deadline, pool, store } = context;
  const all = await store.read();
  const nodes = await deadline.poll("the nodes", () => listNodes(clusters.nodes));
  let numbers = await store.numbers();
  const plans = names.map((old): Replacement => {
    const successor = all.find(({ replaces }) => replaces === old);
    if (successor !== undefined)
      return { old, fresh: successor.name, state: isDone(successor, nodes) ? "done" : "begun" };
    const worker = all.find(({ name }) => name === old);
    if (worker === undefined) throw unknownWorker(old, all);
    if (worker.pool !== pathOf(pool))
      throw workersError(`${old} is a worker of ${worker.pool}, not of ${pathOf(pool)}`);
    const prefix = numbered(old)?.prefix ?? old;
    const fresh = `${prefix}-${numbers[prefix] ?? 0}`;
    numbers = usedNumbers(numbers, [fresh]);
    return { old, fresh, state: "to be done" };
  });
  const rank = ({ old, state }: Replacement) => (state === "to be done" && isReady(nodes.get(old)) ? 1 : 0);
  return plans.sort((a, b) => rank(a) - rank(b));
}

/** Workers of the pool whose configuration is not the current one, and those that an earlier run left unfinished. */
export async function workersBehind(context: WorkersContext, hash: string): Promise<string[]> {
  const { clusters, deadline, pool, store } = context;
  const nodes = await deadline.poll("the nodes", () => listNodes(clusters.nodes));
  return (await store.read())
    .filter((worker) => worker.pool === pathOf(pool))
    .flatMap((worker) => {
      if (worker.replaces !== undefined && !isDone(worker, nodes)) return [worker.replaces];
      const isBehind = configurationOf(worker, nodes.get(worker.name), hash) === "behind";
      return isBehind || worker.leaving === "replaced" ? [worker.name] : [];
    });
}

export async function replaceWorkers(context: WorkersContext, plans: readonly Replacement[]): Promise<void> {
  await approving(context, () => replaceAll(context, plans));
}

async function replaceAll(context: WorkersContext, plans: readonly Replacement[]): Promise<void> {
  const { clusters, maxUnavailable, deadline, rules } = context;
  // Both before anything is changed: what cannot be finished is not begun.
  await makeOptionsFor(context);
  const leaving = plans.filter(({ state }) => state === "to be done").map(({ old }) => old);
  await deadline.retry("the pods", () => requireDrainable(clusters.nodes, leaving, rules));
  const underWay = new Set<Replacement>();
  await eachOf(plans, maxUnavailable, async (plan) => {
    underWay.add(plan);
    await replaceOne(context, plan, underWay);
    underWay.delete(plan);
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
  if (worker !== undefined) {
    await requireRoom(context, worker, underWay);
    await markLeaving(context, [old], "replaced");
    await takeOutOfService(worker, context);
  }
  const successor = all.find(({ name }) => name === fresh);
  if (successor?.made !== true) {
    await makeWorkers(await makeOptionsFor(context), [successor ?? successorOf(worker!, fresh)]);
  }
  // A command that was killed at this point has left it behind.
  await store.removeUserData(old);
  const workers = (await store.read()).filter(({ name }) => name === fresh);
  await awaitWorkers({ ...context, workers });
  deadline.progress.log(`${fresh} is Ready in the place of ${old}`);
}

function successorOf({ leaving: _, replaces: __, ...worker }: Worker, name: string): NewWorker {
  const { deadline: _deadline, hash: _hash, made: _made, notBefore: _notBefore, ...draft } = worker;
  return { ...draft, name, ips: [], replaces: worker.name };
}

/** Rejects when too many workers would be missing. A worker that is not Ready may always be replaced. */
async function requireRoom(context: WorkersContext, worker: Worker, underWay: ReadonlySet<Replacement>): Promise<void> {
  const { clusters, maxUnavailable, deadline, store } = context;
  const nodes = await deadline.poll("the nodes", () => listNodes(clusters.nodes));
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

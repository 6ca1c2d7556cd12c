/** Brings a pool to another number of workers. */
import type { Node } from "../objects.js";
import { approving } from "./approving.js";
import { eachOf, makeOptionsFor, markLeaving, takeOutOfService, type WorkersContext } from "./change.js";
import { requireDrainable } from "./drain.js";
import { createWorkers, type MachineTemplate } from "./machines.js";
import { isReady } from "./node.js";
import { configurationOf, listNodes } from "./status.js";
import { awaitWorkers } from "./verify.js";
import { isInGroup, numbered, planWorkers, type Worker, type WorkerGroup, workersError } from "./worker.js";

type ScalePlan = Awaited<ReturnType<typeof planScale>>;

/** Which workers leave, and which are made: new ones, and those that an earlier run left unfinished. Nothing is changed. */
export async function planScale(context: WorkersContext, wanted: Omit<WorkerGroup, "zones">, hash: string) {
  const { clusters, deadline, store } = context;
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
  const nodes = await deadline.poll("the nodes", () => listNodes(clusters.nodes));
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
  const template = templateOf((await store.read()).filter((worker) => isInGroup(worker, group)));
  await markLeaving(context, leave, "removed");
  const workers = (await store.read()).filter(({ name }) => leave.includes(name));
  await eachOf(workers, maxUnavailable, async (worker) => {
    await takeOutOfService(worker, context);
    const left = await store.forget(worker.name);
    await deadline.retry("the inventory", () => context.publish(left));
    deadline.progress.log(`${worker.name} is removed`);
  });
  if (making !== undefined && template !== undefined) await createWorkers({ ...making, group, template });
  const own = (await store.read()).filter((worker) => isInGroup(worker, group));
  if (make.length > 0) await awaitWorkers({ ...context, workers: own.filter(({ name }) => make.includes(name)) });
}

/** Workers with the lowest rank are removed first: those that are not Ready, then those that are behind, then the youngest. */
function removalRank(worker: Worker, nodes: ReadonlyMap<string, Node>, hash: string): number {
  const node = nodes.get(worker.name);
  const isBehind = configurationOf(worker, node, hash) === "behind";
  return (isReady(node) ? 2e9 : 0) + (isBehind ? 0 : 1e9) - (numbered(worker.name)?.number ?? 0);
}

/** The settings with which the newest worker was made. */
function templateOf(own: readonly Worker[]): MachineTemplate | undefined {
  const worker = [...own].sort((a, b) => (a.notBefore < b.notBefore ? 1 : -1))[0];
  if (worker === undefined) return undefined;
  const { createCommand, deleteCommand, ignitionAddress = "", ownToken, provider, setHostname = true, shape } = worker;
  return { provider, shape, ownToken, createCommand, deleteCommand, setHostname, ignitionAddress };
}

/** Brings a pool to another number of workers. */
import { eachOf, type Fleet, makeOptionsFor, markLeaving, takeOutOfService } from "./change.js";
import { requireDrainable } from "./drain.js";
import { createWorkers, type Template } from "./machines.js";
import { isReady, type Node } from "./node.js";
import { configurationOf, listNodes } from "./status.js";
import { awaitWorkers } from "./verify.js";
import { isOfWish, numbered, planWorkers, type Wish, type Worker, workersError } from "./worker.js";

interface ScalePlan {
  readonly wish: Wish;
  readonly leave: readonly string[];
  /** New ones, and those that an earlier run left unfinished. */
  readonly make: readonly string[];
}

/** Nothing is changed. */
export async function planScale(fleet: Fleet, wanted: Omit<Wish, "zones">, hash: string): Promise<ScalePlan> {
  const { clusters, patience, store } = fleet;
  const all = await store.read();
  const own = all.filter((worker) => isOfWish(worker, wanted));
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
  const wish: Wish = { ...wanted, zones: [...new Set(own.map(({ zone }) => zone).filter(Boolean))].sort() };
  const nodes = await patience.until("the nodes", () => listNodes(clusters.nodes));
  const staying = own.filter(({ leaving }) => leaving === undefined);
  const tooMany = Math.max(0, staying.length - wish.count);
  const chosen = [...staying].sort((a, b) => worth(a, nodes, hash) - worth(b, nodes, hash)).slice(0, tooMany);
  const leave = own.filter((worker) => worker.leaving !== undefined || chosen.includes(worker));
  const left = all.filter((worker) => !leave.includes(worker));
  const planned = wish.count === 0 ? [] : planWorkers(left, wish, await store.numbers());
  const unfinished = left.filter((worker) => isOfWish(worker, wish) && !worker.made);
  return { wish, leave: leave.map(({ name }) => name), make: [...unfinished, ...planned].map(({ name }) => name) };
}

export async function scale(fleet: Fleet, { leave, make, wish }: ScalePlan): Promise<void> {
  const { clusters, maxUnavailable, patience, rules, store } = fleet;
  const making = make.length === 0 ? undefined : await makeOptionsFor(fleet);
  await patience.until("the pods", async () => {
    await requireDrainable(clusters.nodes, leave, rules);
    return true;
  });
  const template = templateOf((await store.read()).filter((worker) => isOfWish(worker, wish)));
  await markLeaving(fleet, leave, "removed");
  const workers = (await store.read()).filter(({ name }) => leave.includes(name));
  await eachOf(workers, maxUnavailable, async (worker) => {
    await takeOutOfService(worker, fleet);
    const left = await store.change((all) => all.filter(({ name }) => name !== worker.name));
    await store.removeUserData(worker.name);
    await patience.until("the inventory", async () => {
      await fleet.publish(left);
      return true;
    });
    patience.progress.tell(`${worker.name} is removed`);
  });
  if (making !== undefined && template !== undefined) await createWorkers({ ...making, wish, template });
  const own = (await store.read()).filter((worker) => isOfWish(worker, wish));
  if (make.length > 0) await awaitWorkers({ ...fleet, workers: own.filter(({ name }) => make.includes(name)) });
}

/** Those go first that are of no use, then those that are behind, then the youngest. */
function worth(worker: Worker, nodes: ReadonlyMap<string, Node>, hash: string): number {
  const node = nodes.get(worker.name);
  const isBehind = configurationOf(worker, node, hash) === "behind";
  return (isReady(node) ? 2e9 : 0) + (isBehind ? 0 : 1e9) - (numbered(worker.name)?.number ?? 0);
}

/** As the newest of them was made. */
function templateOf(own: readonly Worker[]): Template | undefined {
  const worker = [...own].sort((a, b) => (a.notBefore < b.notBefore ? 1 : -1))[0];
  if (worker === undefined) return undefined;
  const { createCommand, deleteCommand, ignitionAddress = "", ownToken, provider, setHostname = true, shape } = worker;
  return { provider, shape, ownToken, createCommand, deleteCommand, setHostname, ignitionAddress };
}

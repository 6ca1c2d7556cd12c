/** `workers up`: apply, prepare, create, approve, label, verify. Each step finds what an earlier run has done. */
import type { KubeObject } from "../../kube/port.js";
import { applyObjects } from "../controller/apply-objects.js";
import { approving } from "./approving.js";
import { makeOptionsFor, type WorkersContext } from "./change.js";
import { createWorkers, type MachineTemplate, type MadeWorker } from "./machines.js";
import { poolReport } from "./status.js";
import { poolHash, poolUserData, UserDataMissing } from "./user-data.js";
import { type VerifyOptions, type VerifyResult, verifyWorkers } from "./verify.js";
import { isInGroup, planWorkers, type WorkerGroup, workersError } from "./worker.js";

interface UpOptions extends Pick<VerifyOptions, "pod"> {
  /** The pool and the objects it refers to; empty when they are in the cluster already. */
  readonly objects: readonly KubeObject[];
  readonly group: WorkerGroup;
  readonly template: MachineTemplate;
}

export interface WorkersUpResult {
  readonly made: readonly MadeWorker[];
  readonly verdict: VerifyResult;
}

export async function bringUpWorkers(context: WorkersContext, options: UpOptions): Promise<WorkersUpResult> {
  const { group, objects, pod, template } = options;
  const { clusters, deadline, store } = context;
  const outcomes = await applyObjects(clusters.pools, objects, { dryRun: false, force: false });
  for (const { action, object } of outcomes) deadline.progress.log(`${object} ${action}`);
  await prepare(context, group);
  return approving(context, async () => {
    const made = await createWorkers({ ...(await makeOptionsFor(context)), group, template });
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
    deadline.progress.status(`${what}: ${problems[0]?.what ?? "its Secret is missing"}`);
    return undefined;
  });
}

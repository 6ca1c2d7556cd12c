/** From a declared pool to nodes that run pods. Whatever was done before is found done. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { makeOptionsFor, type WorkersContext } from "./change.js";
import { createWorkers, type MachineTemplate, type MadeWorker } from "./machines.js";
import { poolReport } from "./status.js";
import { isUserDataMissing, poolHash, poolUserData } from "./user-data.js";
import { type VerifyOptions, type VerifyResult, verifyWorkers } from "./verify.js";
import { isInGroup, planWorkers, type WorkerGroup } from "./worker.js";

interface UpOptions extends Pick<VerifyOptions, "pod"> {
  readonly context: WorkersContext;
  readonly group: WorkerGroup;
  /** Whether workers get a token of their own is up to whose server it is, unless it was said. */
  readonly template: Omit<MachineTemplate, "ownToken"> & { readonly ownToken: boolean | undefined };
}

export interface UpResult {
  readonly made: readonly MadeWorker[];
  readonly verdict: VerifyResult;
}

/** Before anybody is let in and before anything is made: rejects when it cannot be done, and waits for what comes by itself. */
export async function prepare(context: WorkersContext, group: WorkerGroup): Promise<void> {
  const workers = await context.store.read();
  planWorkers(workers, group, await context.store.numbers());
  const leaving = workers.find((worker) => isInGroup(worker, group) && worker.leaving !== undefined);
  if (leaving !== undefined) {
    const command = leaving.leaving === "replaced" ? `replace ${leaving.name}` : "scale";
    const sentence = `${leaving.name} is being ${leaving.leaving}: first go on with drawbridge workers ${command}`;
    throw new DrawbridgeError("DB_WORKERS", sentence);
  }
  await awaitUserData(context);
}

export async function up({ context, pod, template, group }: UpOptions): Promise<UpResult> {
  const making = await makeOptionsFor(context);
  const ownToken = template.ownToken ?? making.userData.isOurs;
  const made = await createWorkers({ ...making, group, template: { ...template, ownToken } });
  const workers = (await context.store.read()).filter((worker) => isInGroup(worker, group));
  return { made, verdict: await verifyWorkers({ ...context, workers, pod, labelsNodes: true }) };
}

/** A pool that was declared a moment ago has none yet, and says meanwhile what it waits for. */
async function awaitUserData({ clusters: { pools }, deadline, pool }: WorkersContext): Promise<void> {
  await deadline.poll(`waiting for user data of pool ${pool.name}`, async () => {
    try {
      const { hash } = await poolUserData(pools, pool);
      deadline.progress.log(`pool ${pool.name} has user data, hash ${hash}`);
      return true;
    } catch (reason) {
      if (!isUserDataMissing(reason)) throw reason;
    }
    const { hash, object } = await poolHash(pools, pool);
    const { problems } = poolReport(pool.name, { pool: object, hash });
    deadline.progress.status(
      `waiting for user data of pool ${pool.name}: ${problems[0]?.what ?? "its Secret is missing"}`,
    );
    return undefined;
  });
}

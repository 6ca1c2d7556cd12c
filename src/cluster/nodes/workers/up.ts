/** From a declared pool to nodes that run pods. Whatever was done before is found done. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Fleet, makeOptionsFor } from "./change.js";
import { createWorkers, type Made, type Template } from "./machines.js";
import { poolReport } from "./status.js";
import { isUserDataMissing, poolHash, poolUserData } from "./user-data.js";
import { type Verdict, type VerifyOptions, verify } from "./verify.js";
import { isOfWish, planWorkers, type Wish } from "./worker.js";

interface UpOptions extends Pick<VerifyOptions, "pod"> {
  readonly fleet: Fleet;
  readonly wish: Wish;
  /** Whether workers get a token of their own is up to whose server it is, unless it was said. */
  readonly template: Omit<Template, "ownToken"> & { readonly ownToken: boolean | undefined };
}

export interface Risen {
  readonly made: readonly Made[];
  readonly verdict: Verdict;
}

/** Before anybody is let in and before anything is made: rejects when it cannot be done, and waits for what comes by itself. */
export async function prepare(fleet: Fleet, wish: Wish): Promise<void> {
  const workers = await fleet.store.read();
  planWorkers(workers, wish, await fleet.store.numbers());
  const leaving = workers.find((worker) => isOfWish(worker, wish) && worker.leaving !== undefined);
  if (leaving !== undefined) {
    const command = leaving.leaving === "replaced" ? `replace ${leaving.name}` : "scale";
    const sentence = `${leaving.name} is being ${leaving.leaving}: first go on with drawbridge workers ${command}`;
    throw new DrawbridgeError("DB_WORKERS", sentence);
  }
  await awaitUserData(fleet);
}

export async function up({ fleet, pod, template, wish }: UpOptions): Promise<Risen> {
  const making = await makeOptionsFor(fleet);
  const ownToken = template.ownToken ?? making.userData.isOurs;
  const made = await createWorkers({ ...making, wish, template: { ...template, ownToken } });
  const workers = (await fleet.store.read()).filter((worker) => isOfWish(worker, wish));
  return { made, verdict: await verify({ ...fleet, workers, pod, labelsNodes: true }) };
}

/** A pool that was declared a moment ago has none yet, and says meanwhile what it waits for. */
async function awaitUserData({ clusters: { pools }, patience, pool }: Fleet): Promise<void> {
  await patience.until(`waiting for user data of pool ${pool.name}`, async () => {
    try {
      const { hash } = await poolUserData(pools, pool);
      patience.progress.tell(`pool ${pool.name} has user data, hash ${hash}`);
      return true;
    } catch (reason) {
      if (!isUserDataMissing(reason)) throw reason;
    }
    const { hash, object } = await poolHash(pools, pool);
    const { lacks } = poolReport(pool.name, { pool: object, hash });
    patience.progress.status(
      `waiting for user data of pool ${pool.name}: ${lacks[0]?.what ?? "its Secret is missing"}`,
    );
    return undefined;
  });
}

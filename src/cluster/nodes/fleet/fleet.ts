/** What commands that change a pool's workers have in common. */
import type { ObjectName } from "../objects.js";
import type { Making } from "../workers/machines.js";
import { ensureTokens } from "../workers/own-tokens.js";
import { poolUserData } from "../workers/pool-user-data.js";
import type { WorkerStore } from "../workers/store.js";
import type { Worker } from "../workers/worker.js";
import type { DrainRules } from "./drain-rules.js";
import type { Clusters } from "./look.js";
import type { Patience } from "./patience.js";

export interface Fleet {
  readonly clusters: Clusters;
  readonly pool: ObjectName;
  readonly store: WorkerStore;
  readonly patience: Patience;
  readonly rules: DrainRules;
  readonly drainMs: number;
  /** How many workers may be missing at a time. */
  readonly maxUnavailable: number;
  /** How long a new worker may take to ask for its certificate. */
  readonly windowMs: number;
  /** Tells an approver in a cluster whom to expect. */
  readonly publish: (workers: readonly Worker[]) => Promise<void>;
}

/** With the pool's user data of now; rejects, before anything is changed, when it has none. */
export async function makingFor({ clusters, patience, pool, publish, store, windowMs }: Fleet): Promise<Making> {
  const userData = await patience.until(`the user data of ${pool.name}`, () => poolUserData(clusters.pools, pool));
  return {
    ...{ store, userData, windowMs, now: patience.clock.now(), dryRun: false, beforeMachines: publish },
    ownTokens: async (names) => (names.length === 0 ? new Map() : ensureTokens(clusters.pools, pool, names)),
    onMade: ({ action, name, userData: file }) => {
      const what = action === "made" ? "its machine is made" : `boot its machine with the user data in ${file}`;
      patience.progress.tell(`${name}: ${what}`);
    },
  };
}

/** At most so many at a time; after a failure none is begun any more, and those under way end first. */
export async function inTurn<T>(items: readonly T[], most: number, run: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const line = async () => {
    for (let item = items[next++]; item !== undefined && failures.length === 0; item = items[next++]) {
      await run(item).catch((reason: unknown) => failures.push(reason));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, line));
  if (failures.length > 0) throw failures[0];
}

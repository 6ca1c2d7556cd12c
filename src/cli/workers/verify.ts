/** `drawbridge workers verify`: whether the workers run pods, and if not, what is missing. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { knownWorkers } from "../../cluster/nodes/workers/machines.js";
import type { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { verifyWorkers } from "../../cluster/nodes/workers/verify.js";
import { defineCommand } from "../framework/define.js";
import { podFlags, podOf, timeoutFlag, verdictText, withDeadline } from "./change.js";
import { openStore, poolFlag, poolOf, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Waits until the pool has nothing to complain about and all its workers, or those named, have fetched their configuration,
are nodes, are Ready with the pool's labels and taints, and start a pod; then, or when --timeout is over, says for each
what is there, what exactly is missing, and what to do. Pods that it makes it removes again; nothing else is changed.

Ends with 0 when nothing is missing, with 1 otherwise.`,
  words: "[NAME...]",
  examples: ["drawbridge workers verify --pool demo --timeout 20m"],
  flags: { ...workersFlags, ...podFlags, ...timeoutFlag("10m"), ...poolFlag },
  async run(flags, { words: names }) {
    const pool = poolOf(flags);
    const pod = podOf(flags);
    return withDeadline(flags.timeout, (deadline) =>
      withWorkersClusters(flags, async (clusters) => {
        const workers = await chosen(await openStore(flags, clusters), `${pool.namespace}/${pool.name}`, names);
        return verifyWorkers({ clusters, pool, workers, deadline, pod, labelsNodes: false });
      }),
    );
  },
  show: verdictText,
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

async function chosen(store: WorkerStore, pool: string, names: readonly string[]) {
  const all = names.length === 0 ? await store.read() : await knownWorkers(store, names);
  const own = all.filter((worker) => worker.pool === pool);
  const foreign = names.find((name) => !own.some((worker) => worker.name === name));
  if (foreign !== undefined) throw new DrawbridgeError("DB_WORKERS", `${foreign} is not a worker of ${pool}`);
  if (own.length > 0) return own;
  const sentence = `${pool} has no workers: drawbridge workers up or create makes some`;
  throw new DrawbridgeError("DB_WORKERS", sentence);
}

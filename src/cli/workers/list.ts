/** `drawbridge workers list`: all workers, and those whose configuration is behind. */

import { table } from "../../base/text.js";
import { isReady } from "../../cluster/kube/pods.js";
import { PoolMissing, poolHash } from "../../cluster/nodes/token/user-data.js";
import {
  type Clusters,
  configurationOf,
  isHosted,
  listNodes,
  runningHash,
} from "../../cluster/nodes/workers/status.js";
import { poolOfWorker, type Worker } from "../../cluster/nodes/workers/worker.js";
import { defineCommand } from "../framework/define.js";
import { openStore, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Lists the workers with their node and the hash of the configuration they run: what the node says of itself, what the Ignition
server sent the machine, or what its user data was made for. A worker is behind when its pool has another one now;
drawbridge workers replace --behind brings those up to date. Nodes of a hosted cluster are seen with --hosted-kubeconfig.`,
  examples: ["drawbridge workers list --hosted-kubeconfig demo.kubeconfig"],
  flags: workersFlags,
  run: (flags) =>
    withWorkersClusters(flags, async (clusters) => {
      const workers = await (await openStore(flags, clusters)).read();
      const seen = await readClusters(clusters, workers);
      return { workers: workers.map((worker) => listedOf(worker, seen)) };
    }),
  show: ({ workers }) => listText(workers),
});

/** Hashes of configurations by pool, and nodes by name; nodes of another cluster are undefined. */
async function readClusters(clusters: Clusters, workers: readonly Worker[]) {
  const hashes = new Map<string, string>();
  let isElsewhere = false;
  for (const worker of new Map(workers.map((each) => [each.pool, each])).values()) {
    try {
      const { hash, object } = await poolHash(clusters.pools, poolOfWorker(worker));
      hashes.set(worker.pool, hash);
      isElsewhere ||= clusters.nodes === clusters.pools && isHosted(object);
    } catch (reason) {
      if (!(reason instanceof PoolMissing)) throw reason;
    }
  }
  return { hashes, nodes: isElsewhere ? undefined : await listNodes(clusters.nodes) };
}

/** `node` is "" and `behind` undefined where that is not known. */
function listedOf(worker: Worker, { hashes, nodes }: Awaited<ReturnType<typeof readClusters>>) {
  const { leaving, made, name, pool, provider, zone } = worker;
  const node = nodes?.get(name);
  const configuration = configurationOf(worker, node, hashes.get(pool));
  return {
    ...{ name, pool, zone, provider, made, leaving, configuration },
    node: nodes === undefined ? "" : node === undefined ? "missing" : isReady(node) ? "Ready" : "NotReady",
    hash: runningHash(worker, node),
    behind: configuration === "unknown" ? undefined : configuration === "behind",
  };
}

function listText(workers: readonly ReturnType<typeof listedOf>[]): string {
  if (workers.length === 0) return "There are no workers.\n";
  return table([
    ["WORKER", "POOL", "ZONE", "PROVIDER", "MADE", "NODE", "HASH", "CONFIGURATION"],
    ...workers.map((worker) => [
      worker.name,
      worker.pool,
      worker.zone || "-",
      worker.provider,
      worker.leaving === undefined ? (worker.made ? "yes" : "no") : `is being ${worker.leaving}`,
      worker.node || "-",
      worker.hash || "-",
      worker.configuration,
    ]),
  ]);
}

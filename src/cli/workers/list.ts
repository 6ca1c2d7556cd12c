/** `drawbridge workers list`: all workers, and those whose configuration is behind. */

import { table } from "../../base/text.js";
import type { Node } from "../../cluster/nodes/objects.js";
import { hashOfNode, isReady } from "../../cluster/nodes/workers/node.js";
import { configurationOf, isHosted, listNodes, type WorkerStatus } from "../../cluster/nodes/workers/status.js";
import { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { PoolMissing, poolHash } from "../../cluster/nodes/workers/user-data.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { yesNo } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import { poolName, type WorkersFlags, withClusters, workersFlags } from "./shared.js";

interface Listed {
  readonly name: string;
  readonly pool: string;
  readonly zone: string;
  readonly provider: string;
  readonly made: boolean;
  /** "" when no cluster was asked. */
  readonly node: "" | "Ready" | "NotReady" | "missing";
  readonly hash: string;
  readonly configuration: WorkerStatus["configuration"];
  /** Undefined: no cluster was asked, or the pool is gone. */
  readonly behind: boolean | undefined;
  readonly leaving: Worker["leaving"];
}

interface Seen {
  /** By pool. */
  readonly hashes: ReadonlyMap<string, string>;
  /** By name; undefined when no cluster was asked. */
  readonly nodes: ReadonlyMap<string, Node> | undefined;
}

export default defineCommand({
  purpose: `Lists the workers that --state remembers, with their node and the hash of the configuration they run: what the node says of
itself, or what the machine was given. A worker is behind when its pool has another one now; drawbridge workers replace
--behind brings those up to date. Nodes of a hosted cluster are seen with --hosted-kubeconfig. --offline asks no cluster.`,
  flags: { ...workersFlags, offline: yesNo("Say what is remembered, and ask no cluster.") },
  async run(flags) {
    const workers = await new WorkerStore(flags.state).read();
    const isAsked = !flags.offline && workers.length > 0;
    const seen = isAsked ? await readClusters(flags, workers) : { hashes: new Map(), nodes: undefined };
    return { workers: await Promise.all(workers.map((worker) => listedOf(worker, seen))) };
  },
  show: ({ workers }) => listText(workers),
});

async function readClusters(flags: WorkersFlags, workers: readonly Worker[]): Promise<Seen> {
  return withClusters(flags, async (clusters) => {
    const hashes = new Map<string, string>();
    let isElsewhere = false;
    for (const pool of new Set(workers.map((worker) => worker.pool))) {
      try {
        const { hash, object } = await poolHash(clusters.pools, poolName(pool));
        hashes.set(pool, hash);
        isElsewhere ||= clusters.nodes === clusters.pools && isHosted(object);
      } catch (reason) {
        if (!(reason instanceof PoolMissing)) throw reason;
      }
    }
    return { hashes, nodes: isElsewhere ? undefined : await listNodes(clusters.nodes) };
  });
}

async function listedOf(worker: Worker, { hashes, nodes }: Seen): Promise<Listed> {
  const { leaving, made, name, pool, provider, zone } = worker;
  const node = nodes?.get(name);
  const configuration = configurationOf(worker, node, hashes.get(pool));
  return {
    ...{ name, pool, zone, provider, made, leaving, configuration },
    node: nodes === undefined ? "" : node === undefined ? "missing" : isReady(node) ? "Ready" : "NotReady",
    hash: (node && hashOfNode(node)) ?? worker.hash,
    behind: configuration === "unknown" ? undefined : configuration === "behind",
  };
}

function listText(workers: readonly Listed[]): string {
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
      worker.hash,
      worker.configuration,
    ]),
  ]);
}

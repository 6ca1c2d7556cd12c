/** `drawbridge workers adopt`: nodes that are there already become workers. */

import { pathOf } from "../../cluster/nodes/objects.js";
import { poolHash } from "../../cluster/nodes/token/user-data.js";
import { adoptNodes } from "../../cluster/nodes/workers/adopt.js";
import { requireHostedAccess } from "../../cluster/nodes/workers/status.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { yesNo } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { poolFlag, poolOf, withState, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Makes a Worker for each of these nodes, which somebody else approved or which were there before: from then on the approver
approves their renewals, and serving certificates for the names and addresses that their Nodes report now. See that these
are right: --dry-run shows them. No certificate that they have is changed, and no machine is made.`,
  words: "NODE...",
  examples: ["drawbridge workers adopt --pool demo host-a host-b --dry-run"],
  flags: { ...workersFlags, ...poolFlag, "dry-run": yesNo("Say what would be adopted, and change nothing.") },
  async run(flags, { words }) {
    const pool = poolOf(flags);
    if (words.length === 0) throw missing("the nodes' names are missing");
    const { dryRun } = flags;
    return withWorkersClusters(flags, async (clusters) => {
      requireHostedAccess(clusters, (await poolHash(clusters.pools, pool)).object);
      return withState(flags, clusters, async (store) => {
        const workers = await adoptNodes({ api: clusters.nodes, store, pool: pathOf(pool), dryRun }, [
          ...new Set(words),
        ]);
        return { workers, dryRun };
      });
    });
  },
  show: ({ workers, dryRun }) => workers.map((worker) => line(worker, dryRun)).join(""),
});

function line({ dnsNames = [], ips, name }: Worker, dryRun: boolean): string {
  const names = [name, ...dnsNames, ...ips].join(", ");
  return `${name} ${dryRun ? "would be" : "is"} a worker; its serving certificates are for ${names}\n`;
}

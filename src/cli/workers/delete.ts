/** `drawbridge workers delete`: removes machines and what is remembered of them. */

import type { KubeApi } from "../../cluster/kube/port.js";
import { revokeTokens } from "../../cluster/nodes/token/user-data.js";
import { deleteWorkers, knownWorkers } from "../../cluster/nodes/workers/machines.js";
import { poolOfWorker, type Worker } from "../../cluster/nodes/workers/worker.js";
import { yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { commandFlags, commandsText, withState, withWorkersClusters, workersFlags } from "./shared.js";

export default defineCommand({
  purpose: `Removes workers: runs what their provider has for that (nothing for none, or without a --delete-command at their creation),
deletes their user data and their own tokens, and marks their Workers as removed, so that no certificate is issued for them
any more; their names stay used. Nodes are not touched: drawbridge workers scale drains and deletes them, too. Certificates
that they have stay valid until they end.`,
  words: "NAME...",
  examples: ["drawbridge workers delete demo-3", "drawbridge workers delete --all --dry-run"],
  flags: {
    ...workersFlags,
    ...commandFlags,
    all: yesNo("Delete every worker."),
    "dry-run": yesNo("Say what would be deleted, and change nothing."),
  },
  async run(flags, { words }) {
    const { all, dryRun } = flags;
    if (words.length === 0 && !all) throw missing("the workers' names are missing; --all means every one");
    if (words.length > 0 && all) throw refused("names and --all exclude each other");
    const workers = await withWorkersClusters(flags, (clusters) =>
      withState(flags, clusters, async (store) => {
        const names = all ? (await store.read()).map(({ name }) => name) : [...new Set(words)];
        // What cannot be done is not begun.
        const planned = await deleteWorkers(store, names, true);
        if (dryRun) return planned;
        const holders = (await knownWorkers(store, names)).filter(({ ownToken }) => ownToken);
        // First: a machine that is being deleted must not be able to come back as another.
        if (holders.length > 0) await revokeOf(clusters.pools, holders);
        return deleteWorkers(store, names, false);
      }),
    );
    return { workers };
  },
  show: ({ workers }) =>
    workers.map(({ action, commands, name }) => `${name} ${action}${commandsText(commands)}\n`).join(""),
});

async function revokeOf(api: KubeApi, holders: readonly Worker[]): Promise<void> {
  // One write for each pool: an interruption leaves all of its tokens or none.
  for (const pool of new Set(holders.map((worker) => worker.pool))) {
    const own = holders.filter((worker) => worker.pool === pool);
    await revokeTokens(
      api,
      poolOfWorker(own[0]!),
      own.map(({ name }) => name),
    );
  }
}

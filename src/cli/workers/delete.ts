/** `drawbridge workers delete`: machines go, and what is remembered of them. */
import type { KubeApi } from "../../cluster/kube/port.js";
import { shellText } from "../../cluster/nodes/workers/machines.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import { boolean } from "../flags/flag-value.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess } from "../nodepool/flags.js";
import { declareHosted, declareState, withClusters, withState } from "./flags.js";
import { declarePublishing, publisher } from "./publishing.js";

const purpose = `Removes workers: runs what their provider has for that (nothing for files, or without a --delete-command at their creation),
deletes their user data, and takes them out of the inventory, so that no certificate is issued for them any more. Nodes are
not touched: drawbridge workers scale drains and deletes them, too. Certificates that they have stay valid until they end.`;

export function workersDelete(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME...",
    declare: (set) => ({
      ...declareAccess(set),
      ...declareState(set),
      all: set.add("all", boolean, false, "Every worker that is remembered."),
      ...declarePublishing(set),
      hostedKubeconfig: declareHosted(set),
      dryRun: set.add("dry-run", boolean, false, "Say what would be done."),
      output: addOutput(set),
    }),
    check: (flags, words) => {
      checkAccess(flags);
      if (words.length === 0 && !flags.all.value)
        throw refused("the workers' names are missing; --all means every one");
      if (words.length > 0 && flags.all.value) throw refused("names and --all exclude each other");
    },
    run: async (flags, words) => {
      const { deleteWorkers, knownWorkers } = await import("../../cluster/nodes/workers/machines.js");
      const removed = await withState(flags, async (store) => {
        const names = flags.all.value ? (await store.read()).map(({ name }) => name) : [...new Set(words)];
        const holders = (await knownWorkers(store, names)).filter(({ ownToken }) => ownToken);
        // First: a machine that is on its way out must not be able to come back as another.
        if (holders.length > 0 && !flags.dryRun.value)
          await withClusters(flags, ({ pools }) => revokeOf(pools, holders));
        const { dryRun, publish } = flags;
        const remove = (tell?: ReturnType<typeof publisher>) => deleteWorkers(store, names, dryRun.value, tell);
        // Without --publish no cluster is asked.
        if (!publish.value || dryRun.value) return remove();
        return withClusters(flags, (clusters) => remove(publisher(flags, clusters)));
      });
      const line = ({ action, command, name }: (typeof removed)[number]) =>
        `${name} ${action}${command.length === 0 ? "" : `: ${shellText(command)}`}\n`;
      process.stdout.write(flags.output.value === "json" ? json({ workers: removed }) : removed.map(line).join(""));
      return 0;
    },
  });
}

async function revokeOf(api: KubeApi, holders: readonly Worker[]): Promise<void> {
  const { revokeTokens } = await import("../../cluster/nodes/workers/user-data.js");
  for (const pool of new Set(holders.map((worker) => worker.pool))) {
    const [namespace = "", name = ""] = pool.split("/");
    const own = holders.filter((worker) => worker.pool === pool);
    await revokeTokens(
      api,
      { namespace, name },
      own.map((worker) => worker.name),
    );
  }
}

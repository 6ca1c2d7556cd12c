/** `drawbridge workers delete`: machines go, and what is remembered of them. */
import type { KubeApi } from "../kube/port.js";
import { shellText } from "../nodepool/workers/command-line.js";
import type { Worker } from "../nodepool/workers/worker.js";
import { boolean } from "./flags/flag-value.js";
import { checkAccess, declareAccess, withObjects } from "./nodepool-flags.js";
import { addOutput, refused, runPlainCommand } from "./plain-command.js";
import { declareState, json, openState } from "./workers-flags.js";

const purpose = `Removes workers: runs what their provider has for that (nothing for files, or without a --delete-command at their creation),
deletes their user data, and takes them out of the inventory, so that no certificate is issued for them any more. Drain
their nodes and delete the Node objects with kubectl; certificates that they have stay valid until they end.`;

export function workersDelete(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME...",
    declare: (set) => ({
      ...declareAccess(set),
      ...declareState(set),
      all: set.add("all", boolean, false, "Every worker that is remembered."),
      publish: set.add("publish", boolean, false, "Also change the inventory in the cluster."),
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
      const { deleteWorkers } = await import("../nodepool/workers/machines.js");
      const store = await openState(flags);
      const names = flags.all.value ? (await store.read()).map(({ name }) => name) : [...new Set(words)];
      const holders = (await store.read()).filter((worker) => worker.ownToken && names.includes(worker.name));
      // First: a machine that is on its way out must not be able to come back as another.
      if (holders.length > 0 && !flags.dryRun.value) await withObjects(flags, (api) => revokeOf(api, holders));
      const removed = await deleteWorkers(store, names, flags.dryRun.value);
      if (flags.publish.value && !flags.dryRun.value) {
        const { publishInventory } = await import("../nodepool/workers/publish.js");
        const left = await store.read();
        await withObjects(flags, (api) => publishInventory(api, flags.namespace.value, left));
      }
      const line = ({ action, command, name }: (typeof removed)[number]) =>
        `${name} ${action}${command.length === 0 ? "" : `: ${shellText(command)}`}\n`;
      process.stdout.write(flags.output.value === "json" ? json({ workers: removed }) : removed.map(line).join(""));
      return 0;
    },
  });
}

async function revokeOf(api: KubeApi, holders: readonly Worker[]): Promise<void> {
  const { revokeTokens } = await import("../nodepool/workers/own-tokens.js");
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

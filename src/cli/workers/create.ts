/** `drawbridge workers create`: from a pool to machines. */

import { poolUserData } from "../../cluster/nodes/token/user-data.js";
import { createWorkers, type MadeWorker, shellText } from "../../cluster/nodes/workers/machines.js";
import { yesNo } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import {
  makingFlags,
  makingOf,
  PROVIDERS_HELP,
  publisher,
  publishingFlags,
  withState,
  withWorkersClusters,
  workersFlags,
} from "./shared.js";

export default defineCommand({
  purpose: `Sees to it that a pool has --count workers named PREFIX-0, PREFIX-1, ...: writes for each the user data with the pool's token of
today into --state, records it in the inventory that drawbridge csr approver reads (--inventory STATE/inventory, or
--publish for one in the cluster), and makes the machine. Workers that were made before are kept, so the command can be
repeated after a failure; a name is never used twice. The pool may be HyperShift's or our own controller's. It waits for
nothing: drawbridge workers verify does, and drawbridge workers up does everything.

${PROVIDERS_HELP}
--dry-run prints what would be run.`,
  examples: ["drawbridge workers create --pool demo --count 3 --publish"],
  flags: {
    ...workersFlags,
    ...makingFlags,
    ...publishingFlags,
    "dry-run": yesNo("Say which workers would be made, by which commands, and change nothing."),
  },
  async run(flags) {
    const { group, pool, template } = makingOf(flags);
    const { dryRun, window: joinWithinMs } = flags;
    return withState(flags.state, (store) =>
      withWorkersClusters(flags, async (clusters) => {
        const userData = await poolUserData(clusters.pools, pool);
        const publish = publisher(flags, clusters);
        const options = { pool, store, clusters, userData, now: Date.now(), dryRun, joinWithinMs, publish };
        const workers = await createWorkers(options, group, template);
        return { workers, inventory: store.inventoryDirectory };
      }),
    );
  },
  show: ({ workers, inventory }, { publish }) => createdText(workers, inventory, publish),
});

function createdText(made: readonly MadeWorker[], inventory: string, isPublished: boolean): string {
  const lines = made.map(({ action, command, name, userData, zone }) => {
    const where = zone === "" ? "" : ` in ${zone}`;
    const how = command.length > 0 ? `: ${shellText(command)}` : action === "kept" ? "" : `: ${userData}`;
    return `${name}${where} ${action}${how}\n`;
  });
  if (made.some(({ action }) => action === "would be made")) return lines.join("");
  const hasFiles = made.some(({ action }) => action === "user data written");
  return [
    ...lines,
    hasFiles
      ? "Give each machine its file as Ignition user data at first boot; the token in it rotates, so do it now or print it\nagain later with drawbridge workers userdata.\n"
      : "",
    isPublished ? "" : `Approve them with drawbridge csr approver --inventory ${inventory}\n`,
  ].join("");
}

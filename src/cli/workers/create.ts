/** `drawbridge workers create`: from a pool to machines. */
import { type Made, shellText } from "../../cluster/nodes/workers/machines.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { toMilliseconds } from "../flags/go-duration.js";
import { addOutput, json, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess, noWords } from "../nodepool/flags.js";
import { declareHosted, declareState, poolOf, withClusters, withState } from "./flags.js";
import { checkMaking, declareMaking, providersHelp, templateOf, wishOf } from "./making.js";
import { declarePublishing, publisher } from "./publishing.js";

const purpose = `Sees to it that a pool has --count workers named PREFIX-0, PREFIX-1, ...: writes for each the user data with the pool's token of
today into --state, records it in the inventory that drawbridge csr approver reads (--inventory STATE/inventory, or
--publish for one in the cluster), and makes the machine. Workers that were made before are kept, so the command can be
repeated after a failure; a name is never used twice. The pool may be HyperShift's or our own controller's. It waits for
nothing: drawbridge workers verify does, and drawbridge workers up does everything.

${providersHelp}
--dry-run prints what would be run.`;

export function workersCreate(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet) {
  return {
    ...declareAccess(set),
    ...declareState(set),
    ...declareMaking(set),
    ...declarePublishing(set),
    hostedKubeconfig: declareHosted(set),
    dryRun: set.add(
      "dry-run",
      boolean,
      false,
      "Say which workers would be made, by which commands, and change nothing.",
    ),
    output: addOutput(set),
  };
}

type CreateFlags = ReturnType<typeof declare>;

function check(flags: CreateFlags, words: readonly string[]): void {
  noWords(words);
  checkAccess(flags);
  checkMaking(flags);
}

async function run(flags: CreateFlags): Promise<number> {
  const [{ createWorkers }, { ensureTokens }, { poolUserData }] = await Promise.all([
    import("../../cluster/nodes/workers/machines.js"),
    import("../../cluster/nodes/workers/user-data.js"),
    import("../../cluster/nodes/workers/user-data.js"),
  ]);
  const pool = poolOf(flags.pool, flags.namespace);
  return withState(flags, async (store) => {
    const made = await withClusters(flags, async (clusters) => {
      const userData = await poolUserData(clusters.pools, pool);
      const template = templateOf(flags);
      return createWorkers({
        ...{ store, userData, wish: wishOf(flags), now: Date.now(), dryRun: flags.dryRun.value },
        template: { ...template, ownToken: template.ownToken ?? userData.isOurs },
        windowMs: toMilliseconds(flags.window.value),
        ownTokens: async (names) => (names.length === 0 ? new Map() : ensureTokens(clusters.pools, pool, names)),
        beforeMachines: publisher(flags, clusters),
      });
    });
    process.stdout.write(
      flags.output.value === "json"
        ? json({ workers: made, inventory: store.inventoryDirectory })
        : report(made, store.inventoryDirectory, flags.publish.value),
    );
    return 0;
  });
}

function report(made: readonly Made[], inventory: string, isPublished: boolean): string {
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
    isPublished ? "" : `Let them in with drawbridge csr approver --inventory ${inventory}\n`,
  ].join("");
}

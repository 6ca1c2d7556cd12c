/** `drawbridge workers up`: from a declared pool to nodes that run pods. */

import { shellText } from "../../cluster/nodes/workers/machines.js";
import type { Progress } from "../../cluster/nodes/workers/patience.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import type { Risen } from "../../cluster/nodes/workers/up.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import { objectsText } from "../framework/objects-file.js";
import { json, runPlainCommand } from "../framework/plain-command.js";
import { noWords } from "../nodepool/flags.js";
import { poolOf } from "./flags.js";
import { APPROVAL_HELP, approving, checkFleet, declareFleet, withFleet } from "./fleet.js";
import { checkMaking, declareMaking, providersHelp, templateOf, wishOf } from "./making.js";
import { checkPods, declarePods, podOf } from "./verify-flags.js";
import { verdictText } from "./verify-report.js";

const purpose = `From nothing to --count nodes that run pods: applies --filename (a pool and what it stands on), waits for the pool's user data,
makes the workers that are missing, lets them in, puts the pool's nodeLabels and taints on their nodes as they join, and
verifies them. Every step finds out what was done before: killed at any point, the same command goes on.

${APPROVAL_HELP}

${providersHelp}`;

export function workersUp(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, declare, check, run });
}

function declare(set: FlagSet) {
  return {
    ...declareFleet(set),
    ...declareMaking(set),
    ...declarePods(set),
    file: set.add(
      "filename",
      string,
      "",
      "File with the pool and what it stands on; - for standard input. If empty, they are there.",
      { shorthand: "f" },
    ),
    dryRun: set.add("dry-run", boolean, false, "Say which workers would be made, and change nothing."),
  };
}

type UpFlags = ReturnType<typeof declare>;

function check(flags: UpFlags, words: readonly string[]): void {
  noWords(words);
  checkFleet(flags);
  checkMaking(flags);
  checkPods(flags);
}

async function run(flags: UpFlags): Promise<number> {
  const { prepare, up } = await import("../../cluster/nodes/workers/up.js");
  const pool = poolOf(flags.pool, flags.namespace);
  const wish = wishOf(flags);
  if (flags.dryRun.value) return rehearse(flags);
  const risen = await withFleet(
    flags,
    { pool: async () => pool, window: flags.window, draining: undefined },
    async (fleet) => {
      const { clusters, patience } = fleet;
      if (flags.file.value !== "") await applyFile(flags, clusters, patience.progress);
      await prepare(fleet, wish);
      return approving(flags, fleet, () => up({ fleet, wish, template: templateOf(flags), pod: podOf(flags) }));
    },
  );
  process.stdout.write(flags.output.value === "json" ? json(risen) : text(risen));
  return risen.verdict.ok ? 0 : 1;
}

async function applyFile(flags: UpFlags, { pools }: Clusters, progress: Progress): Promise<void> {
  const { applyObjects, readObjects } = await import("../../cluster/nodes/controller/apply-objects.js");
  const { file, namespace } = flags;
  const [name, content] = await objectsText(file.value);
  const objects = readObjects(name, content, namespace.value);
  const applied = await applyObjects(pools, objects, { dryRun: false, force: false });
  for (const { action, object } of applied) progress.tell(`${object} ${action}`);
}

/** The pool may not be there yet, and need not be. */
async function rehearse(flags: UpFlags): Promise<number> {
  const [{ planWorkers }, { openState }] = await Promise.all([
    import("../../cluster/nodes/workers/worker.js"),
    import("./flags.js"),
  ]);
  const store = await openState(flags);
  const planned = planWorkers(await store.read(), wishOf(flags), await store.numbers());
  const { createCommand } = templateOf(flags);
  const how = createCommand.length === 0 ? "" : `: ${shellText(createCommand)}`;
  const line = ({ name, zone }: { name: string; zone: string }) =>
    `${name}${zone === "" ? "" : ` in ${zone}`} would be made${how}\n`;
  process.stdout.write(
    flags.output.value === "json"
      ? json({ workers: planned, dryRun: true })
      : planned.map(line).join("") || "All workers are there; what is unfinished would be finished.\n",
  );
  return 0;
}

function text({ made, verdict }: Risen): string {
  const files = made.filter(({ action }) => action === "user data written");
  const hint = files.map(({ name, userData }) => `${name}: its user data is ${userData}\n`);
  return [...hint, verdictText(verdict)].join("");
}

/** `drawbridge workers up`: from a declared pool to nodes that run pods. */

import type { KubeObject } from "../../cluster/kube/port.js";
import { readObjects } from "../../cluster/nodes/controller/apply-objects.js";
import { machineSteps } from "../../cluster/nodes/providers/index.js";
import { bringUpWorkers, type WorkersUpResult } from "../../cluster/nodes/workers/change.js";
import type { MadeWorker } from "../../cluster/nodes/workers/machines.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import { planWorkers } from "../../cluster/nodes/workers/worker.js";
import { text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { inputName, readInput } from "../framework/files.js";
import { APPROVAL_HELP, changeFlags, podFlags, podOf, verdictText, withWorkers } from "./change.js";
import { commandsText, makingFlags, makingOf, openStore, PROVIDERS_HELP, withWorkersClusters } from "./shared.js";

const upFlags = {
  ...changeFlags,
  ...makingFlags,
  ...podFlags,
  filename: {
    ...text("File with the pool and the objects it refers to; - is standard input. If empty, they are there already."),
    shorthand: "f",
  },
  "dry-run": yesNo("Say which workers would be made, and change nothing."),
};

type UpFlags = Values<typeof upFlags>;

export default defineCommand({
  purpose: `From nothing to --count nodes that run pods: applies --filename (a pool and what it refers to), waits for the pool's user data,
makes the workers that are missing, has them approved, puts the pool's nodeLabels and taints on their nodes as they join, and
verifies them. Every step finds out what was done before: killed at any point, the same command goes on.

${APPROVAL_HELP}

${PROVIDERS_HELP}`,
  examples: ["drawbridge workers up -f pool.yaml --pool demo --count 3 --approve"],
  flags: upFlags,
  async run(flags): Promise<WorkersUpResult | Rehearsal> {
    const { pool, reinstall: _, ...making } = makingOf(flags);
    if (flags.reinstall) throw refused("--reinstall goes with drawbridge workers create, which waits for nothing");
    const pod = podOf(flags);
    // The pool may not be there yet, and need not be.
    if (flags.dryRun) return withWorkersClusters(flags, (clusters) => rehearsal(flags, clusters, making));
    const objects = await objectsOf(flags);
    return withWorkers(flags, pool, (context) => bringUpWorkers(context, { ...making, objects, pod }));
  },
  show: (result) => ("dryRun" in result ? rehearsalText(result) : upText(result)),
  exitCode: (result) => ("dryRun" in result || result.verdict.ok ? 0 : 1),
});

async function rehearsal(flags: UpFlags, clusters: Clusters, { group, template }: Making): Promise<Rehearsal> {
  const store = await openStore(flags, clusters);
  const plans = planWorkers(await store.read(), group, await store.numbers());
  const workers = plans.map((plan) => {
    const steps = machineSteps("create", { ...template, ...plan, pool: group.pool }, store.userDataFile(plan.name));
    return { ...plan, commands: steps.map(({ command }) => command) };
  });
  return { workers, dryRun: true };
}

async function objectsOf({ filename, namespace }: UpFlags): Promise<KubeObject[]> {
  if (filename === "") return [];
  const content = await readInput(filename, "DB_NODEPOOL");
  return readObjects(inputName(filename), content.toString(), namespace);
}

type Making = Pick<ReturnType<typeof makingOf>, "group" | "template">;
type Rehearsal = {
  readonly workers: readonly Pick<MadeWorker, "name" | "zone" | "commands">[];
  readonly dryRun: true;
};

function rehearsalText({ workers }: Rehearsal): string {
  const lines = workers.map(({ commands, name, zone }) => {
    return `${name}${zone === "" ? "" : ` in ${zone}`} would be made${commandsText(commands)}\n`;
  });
  return lines.join("") || "All workers are there; what is unfinished would be finished.\n";
}

function upText({ made, verdict }: WorkersUpResult): string {
  const files = made.filter(({ action }) => action === "user data written");
  const hint = files.map(({ name, userData }) => `${name}: its user data is ${userData}\n`);
  return [...hint, verdictText(verdict)].join("");
}

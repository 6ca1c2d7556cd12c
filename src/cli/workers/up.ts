/** `drawbridge workers up`: from a declared pool to nodes that run pods. */

import type { KubeObject } from "../../cluster/kube/port.js";
import { readObjects } from "../../cluster/nodes/controller/apply-objects.js";
import { shellText } from "../../cluster/nodes/providers/run.js";
import { bringUpWorkers, type WorkersUpResult } from "../../cluster/nodes/workers/change.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import { planWorkers, type WorkerGroup } from "../../cluster/nodes/workers/worker.js";
import { text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { inputName, readInput } from "../framework/files.js";
import { APPROVAL_HELP, changeFlags, podFlags, podOf, verdictText, withWorkers } from "./change.js";
import { makingFlags, makingOf, openStore, PROVIDERS_HELP, withWorkersClusters } from "./shared.js";

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
    if (flags.dryRun) return withWorkersClusters(flags, (clusters) => rehearsal(flags, clusters, making.group));
    const objects = await objectsOf(flags);
    return withWorkers(flags, pool, (context) => bringUpWorkers(context, { ...making, objects, pod }));
  },
  show: (result, flags) => ("dryRun" in result ? rehearsalText(result, flags) : upText(result)),
  exitCode: (result) => ("dryRun" in result || result.verdict.ok ? 0 : 1),
});

async function rehearsal(flags: UpFlags, clusters: Clusters, group: WorkerGroup): Promise<Rehearsal> {
  const store = await openStore(flags, clusters);
  return { workers: planWorkers(await store.read(), group, await store.numbers()), dryRun: true };
}

async function objectsOf({ filename, namespace }: UpFlags): Promise<KubeObject[]> {
  if (filename === "") return [];
  const content = await readInput(filename, "DB_NODEPOOL");
  return readObjects(inputName(filename), content.toString(), namespace);
}

type Rehearsal = { readonly workers: ReturnType<typeof planWorkers>; readonly dryRun: true };

function rehearsalText({ workers }: Rehearsal, { createCommand }: UpFlags): string {
  const how = createCommand.length === 0 ? "" : `: ${shellText(createCommand)}`;
  const lines = workers.map(({ name, zone }) => `${name}${zone === "" ? "" : ` in ${zone}`} would be made${how}\n`);
  return lines.join("") || "All workers are there; what is unfinished would be finished.\n";
}

function upText({ made, verdict }: WorkersUpResult): string {
  const files = made.filter(({ action }) => action === "user data written");
  const hint = files.map(({ name, userData }) => `${name}: its user data is ${userData}\n`);
  return [...hint, verdictText(verdict)].join("");
}

/** The context and the steps of commands that change a pool's workers. */

import { deleteIfPresent } from "../../kube/objects.js";
import type { ApprovalMode } from "./approving.js";
import type { Deadline } from "./deadline.js";
import { cordon, type DrainRules, drain } from "./drain.js";
import { type MachineContext, type MakeOptions, machineCommand, runMachineCommand } from "./machines.js";
import { nodePath } from "./node.js";
import { poolUserData, revokeTokens } from "./user-data.js";
import type { Worker } from "./worker.js";

export interface WorkersContext extends MachineContext {
  readonly deadline: Deadline;
  readonly rules: DrainRules;
  readonly drainMs: number;
  /** How many workers may be missing at a time. */
  readonly maxUnavailable: number;
  readonly approval: ApprovalMode;
}

/** Options with the pool's current user data; rejects, before anything is changed, when it has none. */
export async function makeOptionsFor(context: WorkersContext): Promise<MakeOptions> {
  const { clusters, deadline, pool } = context;
  const userData = await deadline.poll(`the user data of ${pool.name}`, () => poolUserData(clusters.pools, pool));
  return {
    ...{ ...context, userData, now: deadline.clock.date(), dryRun: false },
    onMade: ({ action, name, userData: file }) => {
      const what = action === "made" ? "its machine is made" : `boot its machine with the user data in ${file}`;
      deadline.progress.log(`${name}: ${what}`);
    },
  };
}

/** Runs at most so many at a time. After a failure no more are begun, and those under way end first. */
export async function eachOf<T>(items: readonly T[], most: number, run: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const line = async () => {
    for (let item = items[next++]; item !== undefined && failures.length === 0; item = items[next++]) {
      await run(item).catch((reason: unknown) => failures.push(reason));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, line));
  if (failures.length > 0) throw failures[0];
}

/** Records that workers leave before they are taken out of service: the next run after a kill must know it. */
export async function markLeaving(context: WorkersContext, names: readonly string[], leaving: "removed" | "replaced") {
  await context.store.change((all) => all.map((one) => (names.includes(one.name) ? { ...one, leaving } : one)));
}

/** Takes a worker out of service for good: cordon, drain, machine, Node. Every step can be repeated. */
export async function takeOutOfService(worker: Worker, context: WorkersContext): Promise<void> {
  const { clusters, drainMs, deadline, pool, rules, store } = context;
  const { name } = worker;
  const { log } = deadline.progress;
  const node = await deadline.retry(`cordoning ${name}`, () => cordon(clusters.nodes, name));
  if (node !== undefined) {
    log(`${name}: its node is cordoned`);
    await drain(clusters.nodes, node, rules, deadline.within(drainMs));
    log(`${name}: its node is drained`);
  }
  // First: a machine that is on its way out must not be able to come back as another.
  if (worker.ownToken) {
    await deadline.retry(`${name}: revoking its token`, () => revokeTokens(clusters.pools, pool, [name]));
  }
  const command = worker.made ? machineCommand("delete", worker, store.userDataFile(name)) : [];
  if (command.length > 0) await runMachineCommand("delete", worker, command);
  if (worker.made) log(`${name}: ${command.length > 0 ? "its machine is removed" : "switch its machine off now"}`);
  // Only now: without its Node nobody would see a machine that still runs.
  await deadline.retry(`${name}: deleting its Node`, () => deleteIfPresent(clusters.nodes, nodePath(name)));
}

/** Takes a worker out of service for good: cordon, drain, machine, Node. Every step can be repeated. */
import { isNotFound } from "../../kube/errors.js";
import { machineCommand, runMachineCommand } from "../workers/machine-command.js";
import { revokeTokens } from "../workers/own-tokens.js";
import type { Worker } from "../workers/worker.js";
import { cordon, drain } from "./drain.js";
import type { Fleet } from "./fleet.js";
import { nodePath } from "./node.js";

/** Written down first: whoever goes on after a kill must know that it was on its way out. */
export async function markLeaving(fleet: Fleet, names: readonly string[], leaving: "removed" | "replaced") {
  await fleet.store.change((all) => all.map((one) => (names.includes(one.name) ? { ...one, leaving } : one)));
}

export async function takeDown(worker: Worker, fleet: Fleet): Promise<void> {
  const { clusters, drainMs, patience, pool, rules, store } = fleet;
  const { name } = worker;
  const { tell } = patience.progress;
  const surely = (what: string, act: () => Promise<void>) =>
    patience.until(`${name}: ${what}`, async () => {
      await act();
      return true;
    });
  // An empty answer would be waited for.
  const { node } = await patience.until(`cordoning ${name}`, async () => ({
    node: await cordon(clusters.nodes, name),
  }));
  if (node !== undefined) {
    tell(`${name}: its node is cordoned`);
    await drain(clusters.nodes, node, rules, patience.within(drainMs));
    tell(`${name}: its node is drained`);
  }
  // First: a machine that is on its way out must not be able to come back as another.
  if (worker.ownToken) await surely("revoking its token", () => revokeTokens(clusters.pools, pool, [name]));
  const command = worker.made ? machineCommand("delete", worker, store.userDataFile(name)) : [];
  if (command.length > 0) await runMachineCommand("delete", worker, command);
  if (worker.made) tell(`${name}: ${command.length > 0 ? "its machine is removed" : "switch its machine off now"}`);
  // Only now: without its Node nobody would see a machine that still runs.
  await surely("deleting its Node", async () => {
    try {
      await clusters.nodes.delete(nodePath(name));
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  });
}

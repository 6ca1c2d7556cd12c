/** What commands that bring workers in or take them out have in common. */

import type { ObjectName } from "../../cluster/nodes/objects.js";
import type { Fleet } from "../../cluster/nodes/workers/change.js";
import type { Patience } from "../../cluster/nodes/workers/patience.js";
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import type { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { declarePolicyFlags, policyOf } from "../csr/flags.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { addOutput, refused } from "../framework/plain-command.js";
import { checkAccess, declareAccess } from "../nodepool/flags.js";
import { declareHosted, declareState, withClusters, withState } from "./flags.js";
import { checkPositive, declareTimeout, withPatience } from "./patience.js";
import { showProgress } from "./progress.js";
import { approverNamespaceOf, declarePublishing, publisher } from "./publishing.js";

/** For --help. */
export const APPROVAL_HELP = `New machines are let in by an approver of certificate requests. --approve runs one for as long as the command does, with the
flags of drawbridge csr approver; otherwise one must be running that knows the inventory (--publish), or somebody else
approves (--approved-elsewhere).`;

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareFleet(set: FlagSet) {
  return {
    ...declareAccess(set),
    ...declareState(set),
    ...declarePublishing(set),
    ...declarePolicyFlags(set),
    hostedKubeconfig: declareHosted(set),
    approve: set.add("approve", boolean, false, "Decide certificate requests of the workers while this command runs."),
    approvedElsewhere: set.add("approved-elsewhere", boolean, false, "Do not ask for a running approver."),
    timeout: declareTimeout(set, "30m"),
    output: addOutput(set),
  };
}

export type FleetFlags = ReturnType<typeof declareFleet>;

export function checkFleet(flags: FleetFlags): void {
  checkAccess(flags);
  policyOf(flags);
  checkPositive(flags.timeout);
  if (flags.approve.value && flags.approvedElsewhere.value) {
    throw refused("--approve and --approved-elsewhere exclude each other");
  }
}

export function declareDraining(set: FlagSet) {
  const yes = (name: string, usage: string) => set.add(name, boolean, false, usage);
  return {
    force: yes("force", "Also evict pods that nothing would start elsewhere."),
    deleteEmptyDirData: yes("delete-emptydir-data", "Also evict pods with scratch space, which is lost."),
    drainTimeout: set.add("drain-timeout", duration, parseGoDuration("10m"), "How long draining one node may take."),
    maxUnavailable: set.add("max-unavailable", integer, 1, "How many workers may be missing at a time."),
  };
}

export type DrainingFlags = ReturnType<typeof declareDraining>;

export function checkDraining({ drainTimeout, maxUnavailable }: DrainingFlags): void {
  checkPositive(drainTimeout);
  if (maxUnavailable.value < 1) throw refused(`--max-unavailable must be at least 1, got ${maxUnavailable.value}`);
}

interface Whose {
  readonly pool: (store: WorkerStore) => Promise<ObjectName>;
  readonly window: Flag<GoDuration>;
  /** Undefined: nobody leaves. */
  readonly draining: DrainingFlags | undefined;
}

/** Everything that a command needs, for as long as it runs. */
export async function withFleet<T>(
  flags: FleetFlags,
  { draining, pool, window }: Whose,
  run: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const progress = showProgress();
  const drainMs = draining === undefined ? 0 : toMilliseconds(draining.drainTimeout.value);
  const rules = {
    force: draining?.force.value ?? false,
    deleteEmptyDirData: draining?.deleteEmptyDirData.value ?? false,
  };
  const work = (store: WorkerStore, patience: Patience) =>
    withClusters(flags, async (clusters) => {
      const owner = await pool(store);
      await requireNodes(clusters, owner);
      return run({
        ...{ clusters, store, patience, rules, drainMs, pool: owner, publish: publisher(flags, clusters) },
        maxUnavailable: draining?.maxUnavailable.value ?? 1,
        windowMs: toMilliseconds(window.value),
      });
    });
  try {
    return await withState(flags, (store) =>
      withPatience(flags.timeout, progress, (patience) => work(store, patience)),
    );
  } finally {
    progress.end();
  }
}

/** A pool that is not there yet is no reason to stop. */
async function requireNodes(clusters: Clusters, pool: ObjectName): Promise<void> {
  const [{ refuseForeign }, { isPoolMissing, poolHash }] = await Promise.all([
    import("../../cluster/nodes/workers/status.js"),
    import("../../cluster/nodes/workers/user-data.js"),
  ]);
  try {
    refuseForeign(clusters, (await poolHash(clusters.pools, pool)).object);
  } catch (reason) {
    if (!isPoolMissing(reason)) throw reason;
  }
}

/** Around everything that makes machines. */
export async function approving<T>(flags: FleetFlags, fleet: Fleet, run: () => Promise<T>): Promise<T> {
  const [{ requireApprover, whileApproving }, { configMapInventory }] = await Promise.all([
    import("../../cluster/nodes/workers/approving.js"),
    import("../../cluster/nodes/csr/inventory.js"),
  ]);
  const { clusters, patience, pool, store } = fleet;
  const api = clusters.nodes;
  const namespace = approverNamespaceOf(flags);
  if (flags.approve.value) {
    const claims = configMapInventory(clusters.pools, pool.namespace);
    return whileApproving({ api, claims, namespace, store, policy: policyOf(flags), progress: patience.progress }, run);
  }
  if (!flags.approvedElsewhere.value) await requireApprover(api, namespace, patience.clock.date());
  return run();
}

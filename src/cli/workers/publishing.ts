/** Whether, and where, an approver in a cluster is told whom to expect. */
import type { Clusters } from "../../cluster/nodes/workers/status.js";
import type { Worker } from "../../cluster/nodes/workers/worker.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, string } from "../flags/flag-value.js";
import type { NodesFlags } from "./flags.js";

export interface PublishingFlags {
  readonly publish: Flag<boolean>;
  readonly approverNamespace: Flag<string>;
}

export function declarePublishing(set: FlagSet): PublishingFlags {
  return {
    publish: set.add("publish", boolean, false, "Also put the inventory into the cluster, for an approver there."),
    approverNamespace: addApproverNamespace(set),
  };
}

export const addApproverNamespace = (set: FlagSet): Flag<string> =>
  set.add(
    "approver-namespace",
    string,
    "",
    "Namespace of the approver. If empty, --namespace, or drawbridge in a cluster of --hosted-kubeconfig.",
  );

/** Where machines join there need not be a namespace called like their pool's. */
export function approverNamespaceOf(flags: Pick<PublishingFlags, "approverNamespace"> & NodesFlags): string {
  if (flags.approverNamespace.value !== "") return flags.approverNamespace.value;
  return flags.hostedKubeconfig.value === "" ? flags.namespace.value : "drawbridge";
}

/** Does nothing unless it was asked for. */
export function publisher(flags: PublishingFlags & NodesFlags, { nodes }: Clusters) {
  return async (workers: readonly Worker[]): Promise<void> => {
    if (!flags.publish.value) return;
    const { publishInventory } = await import("../../cluster/nodes/workers/approving.js");
    await publishInventory(nodes, approverNamespaceOf(flags), workers);
  };
}

/** Opens the clusters that a hosted command works on, and closes them behind it. */
import type { HostedClusters } from "../../cluster/hosted/apply/clusters.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { refused } from "./flags.js";

export function addHostedKubeconfig(set: FlagSet) {
  return set.add(
    "hosted-kubeconfig",
    string,
    "",
    "Way to the hosted cluster. If empty, only the management cluster is worked on.",
  );
}

export interface Access {
  readonly kubeconfig: string;
  readonly hostedKubeconfig: string;
}

export function requireKubeconfig({ kubeconfig }: Pick<Access, "kubeconfig">): void {
  if (kubeconfig === "") throw refused("--kubeconfig of the management cluster is missing, and KUBECONFIG is empty");
}

export async function withClusters<T>(access: Access, use: (clusters: HostedClusters) => Promise<T>): Promise<T> {
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  const open = (kubeconfig: string) => openKubeApi({ kubeconfig, qps: 50, burst: 100 });
  const management = await open(access.kubeconfig);
  const hosted = access.hostedKubeconfig === "" ? undefined : await open(access.hostedKubeconfig);
  try {
    return await use({ management, hosted });
  } finally {
    management.close();
    hosted?.close();
  }
}

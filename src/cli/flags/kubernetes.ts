/** Access to a Kubernetes cluster: one pair of flags, and one rule for what they stand for when they are empty. */
import type { KubeAccess } from "../../cluster/kube/open.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { type Flag, filePath, inGroup, text } from "./flag.js";

/** --kubeconfig and --context. `cluster` and `otherwise` complete "Kubeconfig of ... If empty, ...". */
export const clusterFlags = (
  cluster = "the cluster",
  otherwise = "the files of KUBECONFIG, then the pod's service account",
) =>
  inGroup("kubernetes", {
    kubeconfig: filePath(`Kubeconfig of ${cluster}. If empty, ${otherwise}.`),
    context: text("Context of --kubeconfig to use. If empty, its current one."),
  });

/** Flags of a second cluster: --hosted-kubeconfig and --hosted-context, for the prefix `hosted`. */
export function secondClusterFlags<Prefix extends string>(prefix: Prefix, cluster: string, otherwise: string) {
  return inGroup("kubernetes", {
    [`${prefix}-kubeconfig`]: filePath(`Kubeconfig of ${cluster}. If empty, ${otherwise}.`),
    [`${prefix}-context`]: text(
      `Context to use of --${prefix}-kubeconfig or, if that is empty, of --kubeconfig. If empty, the current one.`,
    ),
  } as Record<`${Prefix}-kubeconfig` | `${Prefix}-context`, Flag<string>>);
}

export interface ClusterValues {
  readonly kubeconfig: string;
  readonly context: string;
}

interface HostedValues extends ClusterValues {
  readonly hostedKubeconfig: string;
  readonly hostedContext: string;
}

/** The second of two clusters; a context alone is one of --kubeconfig. Undefined: it is the first one. */
export function secondCluster(first: ClusterValues, { kubeconfig, context }: ClusterValues): ClusterValues | undefined {
  if (kubeconfig === "" && (context === "" || context === first.context)) return undefined;
  return { kubeconfig: kubeconfig || first.kubeconfig, context };
}

/** The cluster of --hosted-kubeconfig and --hosted-context. Undefined: it is that of --kubeconfig. */
export const hostedCluster = (flags: HostedValues): ClusterValues | undefined =>
  secondCluster(flags, { kubeconfig: flags.hostedKubeconfig, context: flags.hostedContext });

/** The flag, else all files of KUBECONFIG, which are merged as kubectl merges them; empty: the cluster of this pod. */
export const kubeconfigOf = (given: string, env: Readonly<Record<string, string | undefined>> = process.env): string =>
  given || (env.KUBECONFIG ?? "");

export async function openCluster(
  { kubeconfig, context }: ClusterValues,
  limits: Pick<KubeAccess, "qps" | "burst"> = { qps: 0, burst: 0 },
): Promise<KubeApi> {
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  return openKubeApi({ kubeconfig: kubeconfigOf(kubeconfig), context, ...limits });
}

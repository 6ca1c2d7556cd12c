import { createKubeApi } from "./client.js";
import type { Clock } from "./clock.js";
import { inClusterEndpoint } from "./in-cluster.js";
import type { KubeApi } from "./port.js";

/** The API server a process is told to use: its kubeconfig, or the cluster it runs in when that is empty. */
export async function openKubeApi(
  access: { readonly kubeconfig: string; readonly qps: number; readonly burst: number },
  clock?: Clock,
): Promise<KubeApi> {
  const endpoint =
    access.kubeconfig === ""
      ? inClusterEndpoint()
      : await (await import("./kubeconfig/endpoint.js")).kubeconfigEndpoint(access.kubeconfig);
  return createKubeApi(endpoint, { qps: access.qps, burst: access.burst, ...(clock === undefined ? {} : { clock }) });
}

import type { Clock } from "../../base/clock.js";
import { createKubeApi } from "./client.js";
import { inClusterEndpoint } from "./endpoint.js";
import type { KubeApi } from "./port.js";

export interface KubeAccess {
  /** Empty: in-cluster. */
  readonly kubeconfig: string;
  readonly qps: number;
  readonly burst: number;
}

/** The API server a process is told to use: its kubeconfig, or the cluster it runs in when that is empty. */
export async function openKubeApi(access: KubeAccess, clock?: Clock): Promise<KubeApi> {
  const endpoint =
    access.kubeconfig === ""
      ? inClusterEndpoint()
      : await (await import("./kubeconfig/endpoint.js")).kubeconfigEndpoint(access.kubeconfig);
  return createKubeApi(endpoint, { qps: access.qps, burst: access.burst, ...(clock === undefined ? {} : { clock }) });
}

import { createKubeApi, type KubeClientOptions } from "./client.js";
import { configError, inClusterEndpoint } from "./endpoint.js";
import type { KubeApi } from "./port.js";

export interface KubeAccess {
  /** One file or, as in KUBECONFIG, several separated by colons. Empty: the cluster of this pod. */
  readonly kubeconfig: string;
  /** The context of the kubeconfig; its current one when this is empty or undefined. */
  readonly context?: string;
  readonly qps: number;
  readonly burst: number;
  /** Of which HTTPS_PROXY and NO_PROXY count; the process' own by default. */
  readonly env?: KubeClientOptions["env"];
}

/** Opens the cluster of a kubeconfig or, if that is empty, the one that this process runs in. */
export async function openKubeApi({ burst, context = "", env, kubeconfig, qps }: KubeAccess): Promise<KubeApi> {
  if (kubeconfig === "" && context !== "") {
    throw configError(`There is no kubeconfig whose context ${JSON.stringify(context)} could be used.`);
  }
  const endpoint =
    kubeconfig === ""
      ? inClusterEndpoint()
      : await (await import("./kubeconfig/endpoint.js")).kubeconfigEndpoint(kubeconfig, context);
  return createKubeApi(endpoint, { qps, burst, ...(env && { env }) });
}

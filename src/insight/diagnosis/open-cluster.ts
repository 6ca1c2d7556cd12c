/** The cluster behind a kubeconfig, for objects and for the time it has. */
import { messageOf } from "../../base/errors/error.js";
import type { Cluster } from "./context.js";

/** A sentence instead when the kubeconfig cannot be used. */
export async function openCluster(kubeconfig: string): Promise<Cluster | string> {
  const [{ createKubeApi }, { kubeconfigEndpoint }, { KubeConnection }, { systemClock }] = await Promise.all([
    import("../../cluster/kube/client.js"),
    import("../../cluster/kube/kubeconfig/endpoint.js"),
    import("../../cluster/kube/connection.js"),
    import("../../base/clock.js"),
  ]);
  try {
    const endpoint = await kubeconfigEndpoint(kubeconfig);
    const api = createKubeApi(endpoint);
    const connection = new KubeConnection(endpoint, systemClock);
    return {
      api,
      server: endpoint.server,
      async date() {
        const began = performance.now();
        // Refused answers have a date as well.
        const response = await connection.open({ method: "GET", path: "/version" }, AbortSignal.timeout(10_000));
        response.resume();
        const date = new Date(response.headers.date ?? "");
        if (Number.isNaN(date.getTime())) throw new Error("its answer has no date");
        return { date, tookMs: performance.now() - began };
      },
      close() {
        api.close();
        connection.close();
      },
    };
  } catch (reason) {
    return messageOf(reason).replace(/\.$/, "");
  }
}

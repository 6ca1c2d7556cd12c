/** The Kubernetes API for objects, and beside it for answers that are plain text: logs and metrics. */
import type { Readable } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import type { KubeApi } from "../../kube/port.js";

/** The body of a GET; refused answers throw. */
export type ClusterText = (path: string, timeoutMs: number) => Promise<Readable>;

export interface Cluster {
  readonly api: KubeApi;
  readonly text: ClusterText;
  close(): void;
}

export async function openCluster(kubeconfig: string): Promise<Cluster> {
  const [{ createKubeApi }, { kubeconfigEndpoint }, { KubeConnection }, { systemClock }, { refusalError: refused }] =
    await Promise.all([
      import("../../kube/client.js"),
      import("../../kube/kubeconfig/endpoint.js"),
      import("../../kube/connection.js"),
      import("../../../base/clock.js"),
      import("../../kube/errors.js"),
    ]);
  const endpoint = await kubeconfigEndpoint(kubeconfig);
  const api = createKubeApi(endpoint, { qps: -1 });
  const connection = new KubeConnection(endpoint, systemClock);
  return {
    api,
    async text(path, timeoutMs) {
      const response = await connection.open({ method: "GET", path }, AbortSignal.timeout(timeoutMs));
      if (response.statusCode === 200) return response;
      throw refused(`GET ${path.split("?")[0]}`, response.statusCode ?? 0, await readAll(response));
    },
    close() {
      api.close();
      connection.close();
    },
  };
}

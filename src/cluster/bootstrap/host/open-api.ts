/** Loaded only by commands that have a kubeconfig to use. */
import type { OpenApi } from "./site.js";

export const openApi: OpenApi = async (kubeconfig, server) => {
  const [{ createKubeApi }, { kubeconfigEndpoint }] = await Promise.all([
    import("../../kube/client.js"),
    import("../../kube/kubeconfig/endpoint.js"),
  ]);
  const endpoint = await kubeconfigEndpoint(kubeconfig);
  return createKubeApi(server === undefined ? endpoint : { ...endpoint, server });
};

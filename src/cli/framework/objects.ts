/** The place of the Kubernetes objects that a command works on: a cluster, or a directory of YAML files. */
import type { KubeApi } from "../../cluster/kube/port.js";
import { filePath, inGroup, port, restricted, text, type Values } from "../flags/flag.js";
import { clusterFlags, openCluster } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";

export const objectFlags = {
  ...clusterFlags(),
  ...inGroup("kubernetes", { directory: filePath("Directory of YAML objects to use instead of a cluster.") }),
};

/** A --namespace, which has to be a possible name. */
export const namespaceFlag = (usage: string, value = "drawbridge") =>
  inGroup("kubernetes", {
    namespace: restricted(text(usage, value), (given) =>
      /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(given) ? undefined : "must be the name of a namespace",
    ),
  });

/** With the namespace of pools. */
export const accessFlags = {
  ...objectFlags,
  ...namespaceFlag("Namespace of the pools, their cluster and their Secrets."),
};

type ObjectFlags = Values<typeof objectFlags>;
export type AccessFlags = Values<typeof accessFlags>;

/** Refuses flags that name two places. */
export async function openObjects(
  { directory, kubeconfig, context }: ObjectFlags,
  limits?: Parameters<typeof openCluster>[1],
): Promise<KubeApi> {
  if (directory === "") return openCluster({ kubeconfig, context }, limits);
  if (kubeconfig + context !== "") {
    throw refused("--directory and --kubeconfig (with --context) exclude each other: objects are in one place");
  }
  const { createDirectoryApi } = await import("../../cluster/nodes/controller/directory.js");
  return createDirectoryApi({ directory });
}

/** Closes it whatever happens. */
export async function withObjects<T>(flags: ObjectFlags, use: (api: KubeApi) => Promise<T>): Promise<T> {
  const api = await openObjects(flags);
  return use(api).finally(() => api.close());
}

/** Health port of a long-running process; `when` is a condition such as ", with --watch". */
export const healthFlags = (when = "") =>
  inGroup("advanced", {
    "health-bind-address": text(`Address of /healthz, /readyz and /metrics${when}. If empty, all interfaces.`),
    "health-port": port(0, `Port of /healthz, /readyz and /metrics${when}. If 0, none is opened.`),
  });

/** Undefined: no port is opened. */
export function healthOf({ healthBindAddress: host, healthPort }: Values<ReturnType<typeof healthFlags>>) {
  return healthPort === 0 ? undefined : { host, port: healthPort };
}

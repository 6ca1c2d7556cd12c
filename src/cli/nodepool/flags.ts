/** What the nodepool and workers commands have in common: where the objects are. */
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareAccess(set: FlagSet) {
  const text = (name: string, usage: string, otherwise = "") => set.add(name, string, otherwise, usage);
  return {
    kubeconfig: text("kubeconfig", "Access to the cluster. If empty, KUBECONFIG, then the pod's service account."),
    directory: text("directory", "Directory of YAML objects to use instead of a cluster."),
    namespace: text("namespace", "Where the pools, their cluster and their Secrets are.", "drawbridge"),
  };
}

export interface AccessFlags {
  readonly kubeconfig: Flag<string>;
  readonly directory: Flag<string>;
  readonly namespace: Flag<string>;
}

export function checkAccess({ directory, kubeconfig, namespace }: AccessFlags): void {
  if (directory.value !== "" && kubeconfig.value !== "") {
    throw refused("--directory and --kubeconfig exclude each other: objects are in one place");
  }
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace.value)) {
    throw refused(`--namespace "${namespace.value}" is not the name of a namespace`);
  }
}

export async function openObjects({ directory, kubeconfig }: AccessFlags): Promise<KubeApi> {
  if (directory.value !== "") {
    const { createDirectoryApi } = await import("../../cluster/nodes/controller/directory/api.js");
    return createDirectoryApi({ directory: directory.value });
  }
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  return openKubeApi({ kubeconfig: kubeconfig.value || (process.env.KUBECONFIG ?? ""), qps: 0, burst: 0 });
}

/** Closes it whatever happens. */
export async function withObjects<T>(flags: AccessFlags, use: (api: KubeApi) => Promise<T>): Promise<T> {
  const api = await openObjects(flags);
  try {
    return await use(api);
  } finally {
    api.close();
  }
}

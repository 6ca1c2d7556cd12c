/** What kind of host this is, and which kube-apiservers there are besides its own. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Topology } from "../model/names.js";
import type { Host } from "./host.js";

export const KUBEADM_MANIFEST = "kube-apiserver.yaml";
const ADMIN_CONFIG = "/etc/kubernetes/admin.conf";

/** By what lies on the host; the cluster need not be there yet. */
export async function detectTopology({ files }: Host, manifestsDirectory: string): Promise<Topology> {
  if ((await files.look("/opt/openshift")) !== undefined) return "openshift";
  const marks = [`${manifestsDirectory}/${KUBEADM_MANIFEST}`, "/etc/kubernetes/pki/apiserver.crt"];
  for (const mark of marks) if ((await files.look(mark)) !== undefined) return "kubeadm";
  return "bare";
}

/** kubeadm's own where nobody says another. */
export async function chooseKubeconfig(host: Host, told: string, env: string | undefined): Promise<string> {
  if (told !== "") return told;
  if (env !== undefined && env !== "") return env;
  if ((await host.files.look(ADMIN_CONFIG)) !== undefined) return host.files.real(ADMIN_CONFIG);
  throw new DrawbridgeError("DB_FLAG_VALUE", "--kubeconfig is missing: a file with an administrator's access.");
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
}

/** Addresses of the cluster's kube-apiservers, as they announce themselves; none when the API does not answer. */
export async function announcedApiServers(kube: KubeApi): Promise<string[]> {
  try {
    const { items } = await kube.list<EndpointSlice>(collectionPath("EndpointSlice", "default"), {
      labelSelector: "kubernetes.io/service-name=kubernetes",
      timeoutMs: 5_000,
    });
    const addresses = items.flatMap(({ endpoints }) => endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
    return [...new Set(addresses)].sort();
  } catch (reason) {
    if (reason instanceof KubeApiError) return [];
    throw reason;
  }
}

export function refuseSeveral(addresses: readonly string[]): void {
  if (addresses.length < 2) return;
  const sentence =
    `This control plane has ${addresses.length} kube-apiservers (${addresses.join(", ")}), each of which would need a ` +
    "server of its own on its host, and up makes one.";
  throw new DrawbridgeError("DB_HIGHLY_AVAILABLE", sentence);
}

/** Whether a cluster's pools are managed by drawbridge or by HyperShift. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { KubeApiError } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";

export const CRD_NAME = "nodepools.hypershift.openshift.io";
export const OWNER_LABEL = "app.kubernetes.io/managed-by";
export const OWNER_NAME = "drawbridge";

const CRDS = collectionPath("CustomResourceDefinition");
export const CRD_PATH = `${CRDS}/${CRD_NAME}`;
export const HOSTED_CLUSTERS_CRD_NAME = "hostedclusters.hypershift.openshift.io";
export const operator = { namespace: "hypershift", name: "operator" } as const;

/** The part of HyperShift that a cluster has, in words; undefined when it has none. */
export async function findHyperShift(api: KubeApi): Promise<string | undefined> {
  const crd = await found(api, CRD_PATH);
  if (crd !== undefined && !isOurs(crd)) return `the resource ${CRD_NAME}, which drawbridge did not install`;
  if ((await found(api, `${CRDS}/${HOSTED_CLUSTERS_CRD_NAME}`)) !== undefined) {
    return `the resource ${HOSTED_CLUSTERS_CRD_NAME}`;
  }
  const deployment = namedPath("Deployment", { namespace: operator.namespace, name: operator.name });
  const runs = await found(api, deployment);
  return runs && `the Deployment ${operator.namespace}/${operator.name}`;
}

/** Throws when HyperShift runs in the cluster. */
export async function refuseBesideHyperShift(api: KubeApi): Promise<void> {
  const what = await findHyperShift(api);
  if (what !== undefined) {
    throw new DrawbridgeError("DB_NODEPOOL_HYPERSHIFT", `HyperShift runs in this cluster: it has ${what}`);
  }
}

/** Throws unless pools are known to the cluster and ours. */
export async function requireInstalled(api: KubeApi): Promise<void> {
  await refuseBesideHyperShift(api);
  if ((await found(api, CRD_PATH)) === undefined) {
    throw new DrawbridgeError("DB_NODEPOOL_INSTALL", `the cluster does not know the resource ${CRD_NAME}`);
  }
}

function isOurs({ metadata }: KubeObject): boolean {
  return metadata?.labels?.[OWNER_LABEL] === OWNER_NAME;
}

async function found(api: KubeApi, path: string): Promise<KubeObject | undefined> {
  try {
    return await find(api, path);
  } catch (reason) {
    if (reason instanceof KubeApiError && reason.status === 403) {
      throw new DrawbridgeError(
        "DB_NODEPOOL_INSTALL",
        `whether HyperShift runs here cannot be seen: ${reason.detail}`,
        { cause: reason },
      );
    }
    throw reason;
  }
}

/** Brings the Worker resource and its namespace into a cluster that lacks them. */
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { kubeManifest } from "../../kube/builders.js";
import { KubeApiError } from "../../kube/errors.js";
import { collectionPath, objectPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { INSTALL_MANAGER, WORKERS_CRD_NAME, workerResource } from "./resource.js";
import { workersError } from "./worker.js";

/** Whether the API does not serve Workers at all. */
export function isResourceMissing(reason: unknown): boolean {
  return reason instanceof DrawbridgeError && reason.code === "DB_API_KIND";
}

const SERVED_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 200;

export async function ensureResource(api: KubeApi, namespace: string): Promise<void> {
  if (!(await isServed(api, namespace))) {
    await api
      .apply(objectPath(workerResource), workerResource, { fieldManager: INSTALL_MANAGER })
      .catch((reason: unknown) => {
        throw reason instanceof KubeApiError && reason.status === 403 ? notAllowed() : reason;
      });
    const end = systemClock.now() + SERVED_WITHIN_MS;
    while (!(await isServed(api, namespace))) {
      if (systemClock.now() > end) throw workersError(`the API does not serve ${WORKERS_CRD_NAME} after 30 s`);
      await pause(systemClock, LOOK_EVERY_MS);
    }
  }
  await ensureNamespace(api, namespace);
}

function notAllowed(): DrawbridgeError {
  const how =
    "have an administrator of that cluster run drawbridge nodepool install, or apply the CustomResourceDefinition that it prints with --output yaml";
  return workersError(`the cluster has no ${WORKERS_CRD_NAME}, and this user may not install it: ${how}`);
}

async function isServed(api: KubeApi, namespace: string): Promise<boolean> {
  try {
    await api.list(collectionPath("Worker", namespace));
    return true;
  } catch (reason) {
    if (isResourceMissing(reason)) return false;
    throw reason;
  }
}

/** A user who may not create it may still use it, and a directory of objects needs none. */
export async function ensureNamespace(api: KubeApi, name: string): Promise<void> {
  try {
    await api.create(collectionPath("Namespace"), kubeManifest("Namespace", { name }));
  } catch (reason) {
    const isFine = reason instanceof KubeApiError && [403, 404, 409].includes(reason.status);
    if (!isFine) throw reason;
  }
}

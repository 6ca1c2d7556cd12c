/** Puts the inventory where an approver that runs in a cluster finds it. */
import type { KubeApi } from "../../kube/port.js";
import { namedPath } from "../controller/paths.js";
import { INVENTORY_LABEL } from "../csr/approver/inventory-source.js";
import type { ConfigMap } from "../objects.js";
import { inventoryText } from "./inventory-text.js";
import type { Worker } from "./worker.js";

const NAME = "drawbridge-workers";

export async function publishInventory(api: KubeApi, namespace: string, workers: readonly Worker[]): Promise<string> {
  const map: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: NAME, namespace, labels: { [INVENTORY_LABEL]: "true" } },
    data: { "workers.yaml": inventoryText(workers) },
  };
  await api.apply(namedPath("ConfigMap", { namespace, name: NAME }), map, {
    fieldManager: "drawbridge-workers",
    force: true,
  });
  return `ConfigMap ${namespace}/${NAME}`;
}

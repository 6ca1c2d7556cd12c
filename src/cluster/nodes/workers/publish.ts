/** Puts the inventory where an approver that runs in a cluster finds it. */
import type { KubeApi } from "../../kube/port.js";
import { namedPath } from "../controller/paths.js";
import { inventoryLabel } from "../csr/approver/inventory-source.js";
import type { ConfigMap } from "../objects.js";
import { inventoryText } from "./inventory-text.js";
import type { Worker } from "./worker.js";

const name = "drawbridge-workers";

export async function publishInventory(api: KubeApi, namespace: string, workers: readonly Worker[]): Promise<string> {
  const map: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels: { [inventoryLabel]: "true" } },
    data: { "workers.yaml": inventoryText(workers) },
  };
  await api.apply(namedPath("ConfigMap", { namespace, name }), map, {
    fieldManager: "drawbridge-workers",
    force: true,
  });
  return `ConfigMap ${namespace}/${name}`;
}

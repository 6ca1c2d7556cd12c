/** Where the inventory is kept: a directory, or ConfigMaps with our label. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import type { KubeApi } from "../../../kube/port.js";
import type { ConfigMap } from "../../objects.js";
import { type Inventory, type InventoryText, readInventory } from "../inventory.js";

/** Reads the whole inventory as it is now; fails rather than leaving out what is broken. */
export type InventorySource = () => Promise<Inventory>;

export const INVENTORY_LABEL = "drawbridge/inventory";

/** Every file ending in yaml, yml or json; editors' leftovers and hidden files are none. */
export function directoryInventory(directory: string): InventorySource {
  return async () => {
    const texts: InventoryText[] = [];
    try {
      const names = (await readdir(directory)).filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name)).sort();
      for (const name of names) {
        const path = join(directory, name);
        texts.push({ where: path, text: await readFile(path, "utf8") });
      }
    } catch (reason) {
      throw new DrawbridgeError("DB_CSR_INVENTORY", `the inventory cannot be read: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
    return readInventory(texts);
  };
}

/** Every key of every ConfigMap labelled `drawbridge/inventory=true`. */
export function configMapInventory(api: KubeApi, namespace: string): InventorySource {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  return async () => {
    const { items } = await api.list<ConfigMap>(path, { labelSelector: `${INVENTORY_LABEL}=true` });
    return readInventory(
      items.flatMap(({ data = {}, metadata }) =>
        Object.entries(data).map(([key, text]) => ({
          where: `ConfigMap ${namespace}/${metadata?.name} key ${key}`,
          text,
        })),
      ),
    );
  };
}

/** Workers of the first alone, claims of both: an Ignition server writes down in its cluster whom it has served. */
export function withClaimsOf(own: InventorySource, server: InventorySource): InventorySource {
  return async () => {
    const [inventory, { claims }] = await Promise.all([own(), server()]);
    return { ...inventory, claims: [...inventory.claims, ...claims] };
  };
}

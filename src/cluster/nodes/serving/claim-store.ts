/** Where claims are kept: a file of an inventory directory, or a ConfigMap with the inventory's label. */
import { readFile } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { replaceFile } from "../../../base/files.js";
import { find } from "../../kube/find.js";
import type { KubeApi } from "../../kube/port.js";
import { INVENTORY_LABEL } from "../csr/approver/inventory-source.js";
import type { ConfigMap, ObjectName } from "../objects.js";
import { type Claim, readClaims, withClaims, writeClaims } from "./claims.js";

/** Adds to what is there; rejects, and changes nothing, when that is not possible now. */
export type ClaimStore = (claims: readonly Claim[], now: number) => Promise<void>;

export function claimsInFile(path: string): ClaimStore {
  return async (claims, now) => {
    try {
      const before = await readFile(path, "utf8").catch((reason: NodeJS.ErrnoException) => {
        if (reason.code === "ENOENT") return "";
        throw reason;
      });
      await replaceFile(path, writeClaims(withClaims(readClaims(before), claims, now)), 0o600);
    } catch (reason) {
      throw new DrawbridgeError("DB_IGNITION_AUDIT", `the claims cannot be written: ${messageOf(reason)}`);
    }
  };
}

/** Replicas share it: a write over somebody else's fails and is tried again. */
export function claimsInConfigMap(api: KubeApi, { namespace, name }: ObjectName): ClaimStore {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const labels = { [INVENTORY_LABEL]: "true" };
  return async (claims, now) => {
    const found = await find<ConfigMap>(api, path);
    const text = writeClaims(withClaims(readClaims(found?.data?.claims ?? ""), claims, now));
    const map: ConfigMap = {
      ...(found ?? { apiVersion: "v1", kind: "ConfigMap" }),
      metadata: { ...found?.metadata, name, namespace, labels: { ...found?.metadata?.labels, ...labels } },
      data: { ...found?.data, claims: text },
    };
    if (found === undefined) await api.create(collection, map);
    else await api.update(path, map);
  };
}

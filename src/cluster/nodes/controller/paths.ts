/** Where the API keeps what a pool's controller reads and writes. */
import type { KubeObject } from "../../kube/port.js";
import { nameOf, type ObjectName } from "../objects.js";
import { NODE_POOL_VERSION } from "../pool/node-pool.js";

export type Kind = "NodePool" | "ConfigMap" | "Secret";

const roots: Readonly<Record<Kind, readonly [root: string, plural: string]>> = {
  NodePool: [`/apis/${NODE_POOL_VERSION}`, "nodepools"],
  ConfigMap: ["/api/v1", "configmaps"],
  Secret: ["/api/v1", "secrets"],
};

export const versions: Readonly<Record<Kind, string>> = { NodePool: NODE_POOL_VERSION, ConfigMap: "v1", Secret: "v1" };

export function collectionPath(kind: Kind, namespace: string): string {
  const [root, plural] = roots[kind];
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function namedPath(kind: Kind, { namespace, name }: ObjectName): string {
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

export function objectPath(object: KubeObject): string {
  return namedPath(object.kind as Kind, nameOf(object));
}

/** Members of lists lack what each of them is; what is written must say it. */
export function typed<T extends KubeObject>(kind: Kind, object: T): T {
  return { ...object, apiVersion: versions[kind], kind };
}

/** The rights of an approver, one by one. */
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { clusterRules, inventoryRules, namespaceRules } from "../../src/cluster/nodes/permissions.js";
import { oneByOne, type Right, ruleOf } from "./rights.js";

export const NAMESPACE = "drawbridge";
export const APPROVER = "drawbridge-approver";

export const clusterPermissions: readonly Right[] = clusterRules.flatMap(oneByOne);
export const namespacePermissions: readonly Right[] = [...namespaceRules, ...inventoryRules].flatMap(oneByOne);

export function role(kind: "ClusterRole" | "Role", permissions: readonly Right[]): KubeObject & { rules: object[] } {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name: APPROVER, ...(kind === "Role" ? { namespace: NAMESPACE } : {}) },
    rules: permissions.map(ruleOf),
  };
}

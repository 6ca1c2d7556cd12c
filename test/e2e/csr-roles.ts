/** The rights of an approver, one by one. */
import type { KubeObject } from "../../src/kube/port.js";
import {
  clusterRules,
  inventoryRule,
  namespaceRules,
  type PolicyRule,
} from "../../src/nodepool/csr/approver/permissions.js";

export const NAMESPACE = "drawbridge";
export const APPROVER = "drawbridge-approver";

export interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
}

export const clusterPermissions: readonly Permission[] = clusterRules.flatMap(oneByOne);
export const namespacePermissions: readonly Permission[] = [...namespaceRules, inventoryRule].flatMap(oneByOne);

function oneByOne({ apiGroups, resourceNames, resources, verbs }: PolicyRule): Permission[] {
  const names = resourceNames?.map((name) => ({ name })) ?? [{}];
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => names.map((named) => ({ group, resource, verb, ...named }))),
    ),
  );
}

export function role(
  kind: "ClusterRole" | "Role",
  permissions: readonly Permission[],
): KubeObject & { rules: object[] } {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name: APPROVER, ...(kind === "Role" ? { namespace: NAMESPACE } : {}) },
    rules: permissions.map(({ group, name, resource, verb }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: [verb],
      ...(name === undefined ? {} : { resourceNames: [name] }),
    })),
  };
}

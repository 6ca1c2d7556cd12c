/** What an Ignition server may do in a cluster, and no more. */
import type { PolicyRule } from "../csr/approver/permissions.js";

/** For a Role in the namespace of the token Secrets. */
export const servingRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "update", "delete"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** For a Role in the namespace of the inventory. Creation cannot be tied to a name. */
export function claimRules(name: string): readonly PolicyRule[] {
  const configMaps = { apiGroups: [""], resources: ["configmaps"] };
  return [
    { ...configMaps, verbs: ["create"] },
    { ...configMaps, verbs: ["get", "update"], resourceNames: [name] },
  ];
}

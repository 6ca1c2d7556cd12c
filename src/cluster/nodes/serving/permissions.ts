/** What an Ignition server may do in a cluster, and no more. */
import type { PolicyRule } from "../csr/approver/permissions.js";

const configMaps = { apiGroups: [""], resources: ["configmaps"] };

/** For a Role in the namespace of the token Secrets. */
export const servingRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "update", "delete"] },
  { ...configMaps, verbs: ["get"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** For a Role in the namespace of the inventory. Creation cannot be tied to a name. */
export function claimRules(name: string): readonly PolicyRule[] {
  return [
    { ...configMaps, verbs: ["create"] },
    { ...configMaps, verbs: ["get", "update"], resourceNames: [name] },
  ];
}

/** For one Role when both are one namespace: reading claims takes no further right there. */
export function servingAndClaimRules(name: string): readonly PolicyRule[] {
  return [
    ...servingRules,
    { ...configMaps, verbs: ["create"] },
    { ...configMaps, verbs: ["update"], resourceNames: [name] },
  ];
}

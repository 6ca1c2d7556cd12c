/** What the approver and the Ignition server may do in a cluster, and no more. */

import { API_SERVER_NAME } from "./csr/approver/requests.js";
import { CLIENT_SIGNER, SERVING_SIGNER } from "./csr/signing-request.js";

/** As RBAC has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Its Lease, and the ConfigMap with its memory. */
export const APPROVER_NAME = "drawbridge-csr-approver";

const certificates = ["certificates.k8s.io"];

/** For a ClusterRole. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: certificates, resources: ["certificatesigningrequests"], verbs: ["get", "list", "watch"] },
  { apiGroups: certificates, resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
  // Without names here it could approve certificates for anybody, administrators included.
  {
    apiGroups: certificates,
    resources: ["signers"],
    verbs: ["approve"],
    resourceNames: [CLIENT_SIGNER, SERVING_SIGNER],
  },
  { apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"] },
  // The API server's addresses, which no node may have.
  { apiGroups: [""], resources: ["services"], verbs: ["get"], resourceNames: [API_SERVER_NAME] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get"], resourceNames: [API_SERVER_NAME] },
];

/** For a Role in its namespace. Creation cannot be tied to a name. */
export const namespaceRules: readonly PolicyRule[] = [
  ...[
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"] },
    { apiGroups: [""], resources: ["configmaps"] },
  ].flatMap((what) => [
    { ...what, verbs: ["create"] },
    { ...what, verbs: ["get", "update"], resourceNames: [APPROVER_NAME] },
  ]),
];

/** Beside the others, when the inventory is kept in ConfigMaps. */
export const inventoryRule: PolicyRule = { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] };

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

/** Of the controller's Lease, ServiceAccount and Deployment. */
export const CONTROLLER_NAME = "drawbridge-nodepool-controller";

/** What the pools' controller may do, and no more. */
import { CRD_NAME, HOSTED_CLUSTERS_CRD_NAME, operator } from "../controller/hypershift.js";
import { CONTROLLER_NAME, type PolicyRule } from "../permissions.js";

/** For a ClusterRole: only to see whether HyperShift is here. */
export const controllerClusterRules: readonly PolicyRule[] = [
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["get"],
    resourceNames: [CRD_NAME, HOSTED_CLUSTERS_CRD_NAME],
  },
  { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"], resourceNames: [operator.name] },
];

const hypershift = ["hypershift.openshift.io"];

/** For a Role in the namespace of the pools. Creation cannot be tied to a name, nor can Secrets be chosen by annotation. */
export const controllerNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: hypershift, resources: ["nodepools"], verbs: ["get", "list", "watch", "update"] },
  { apiGroups: hypershift, resources: ["nodepools/status"], verbs: ["update"] },
  // OpenShift lets only those set an owner who could also delete; nothing is deleted by it.
  { apiGroups: hypershift, resources: ["nodepools"], verbs: ["delete"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch", "create", "update", "delete"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "delete"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "update"],
    resourceNames: [CONTROLLER_NAME],
  },
];

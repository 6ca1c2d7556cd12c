/** What the controller, the approver and the Ignition server may do in a cluster, and no more. Creation cannot be tied to a name. */

import { CRD_NAME, HOSTED_CLUSTERS_CRD_NAME, operator } from "./controller/hypershift.js";
import { API_SERVER_NAME } from "./csr/decide.js";
import { BOOTSTRAPPER } from "./csr/request-context.js";
import { CLIENT_SIGNER, SERVING_SIGNER } from "./csr/signing-request.js";
import { WORKER_GROUP } from "./workers/resource.js";

/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The verbs are separated by blanks; with names the rule is for these objects only. */
function rule(group: string, resource: string, verbs: string, ...names: readonly string[]): PolicyRule {
  const about = { apiGroups: [group], resources: [resource], verbs: verbs.split(" ") };
  return names.length === 0 ? about : { ...about, resourceNames: names };
}

const CERTIFICATES = "certificates.k8s.io";
const COORDINATION = "coordination.k8s.io";
const HYPERSHIFT = "hypershift.openshift.io";

/** Name of the approver's Lease, and of the ConfigMap with its memory. */
export const APPROVER_NAME = "drawbridge-csr-approver";

/** The approver's, for a ClusterRole. */
export const clusterRules: readonly PolicyRule[] = [
  rule(CERTIFICATES, "certificatesigningrequests", "get list watch"),
  rule(CERTIFICATES, "certificatesigningrequests/approval", "update"),
  // Without names here it could approve certificates for anybody, administrators included.
  rule(CERTIFICATES, "signers", "approve", CLIENT_SIGNER, SERVING_SIGNER),
  rule("", "nodes", "list watch"),
  // The API server's addresses, which no node may have.
  rule("", "services", "get", API_SERVER_NAME),
  rule("discovery.k8s.io", "endpointslices", "get", API_SERVER_NAME),
];

/** The approver's, for a Role in its namespace. */
export const namespaceRules: readonly PolicyRule[] = [
  rule(COORDINATION, "leases", "create"),
  rule(COORDINATION, "leases", "get update", APPROVER_NAME),
  rule("", "configmaps", "create"),
  rule("", "configmaps", "get update", APPROVER_NAME),
];

/** Beside the others, unless the approver's inventory is in files: it reads Workers, and writes what it saw of them. */
export const inventoryRules: readonly PolicyRule[] = [
  rule("", "configmaps", "list"),
  rule(WORKER_GROUP, "workers", "list watch"),
  rule(WORKER_GROUP, "workers/status", "update"),
];

/** Name of the Role for people and programs that make workers. */
export const WORKERS_ROLE_NAME = "drawbridge-workers";

/**
 * For a Role in the namespace of Workers and pools that is bound to nobody: who may write a Worker decides which machines
 * become nodes. Secrets hold user data, and workers' own tokens.
 */
export const workersRules: readonly PolicyRule[] = [
  rule(WORKER_GROUP, "workers", "get list create update delete"),
  rule(COORDINATION, "leases", "get create update"),
  rule(HYPERSHIFT, "nodepools", "get"),
  rule("", "secrets", "get create update"),
  rule("", "configmaps", "get list"),
];

/**
 * The rights of `workers doctor` by the place for which they are given: to look, and those that --fix needs as well. To approve
 * requests --fix needs the approver's, too.
 */
export const doctorRules = {
  /** The namespace of the pool. */
  pool: {
    look: [rule(HYPERSHIFT, "nodepools", "get"), rule("", "secrets", "get list")],
    fix: [rule("", "secrets", "create update")],
  },
  /** The namespace of the control plane of the pool's cluster. */
  controlPlane: {
    look: [
      rule("", "secrets", "get list"),
      rule("apps", "deployments", "get"),
      rule("", "services", "get"),
      rule("", "pods", "list"),
      rule("", "events", "list"),
    ],
    fix: [rule("", "secrets", "create"), rule("", "pods", "delete")],
  },
  /** The whole cluster that machines join. */
  cluster: {
    look: [
      ...["nodes", "pods", "events"].map((resource) => rule("", resource, "list")),
      rule(CERTIFICATES, "certificatesigningrequests", "list"),
      rule("", "services", "get", API_SERVER_NAME),
      rule("discovery.k8s.io", "endpointslices", "get", API_SERVER_NAME),
    ],
    fix: [],
  },
  /** The namespace of the approver there. */
  approver: {
    look: [rule(WORKER_GROUP, "workers", "list"), rule("", "configmaps", "get list")],
    // A Worker says for which configuration its user data was made.
    fix: [rule(WORKER_GROUP, "workers", "get update")],
  },
  /** The namespace of the cluster network there. */
  network: { look: [rule("", "secrets", "get")], fix: [] },
} as const satisfies Readonly<Record<string, Readonly<Record<"look" | "fix", readonly PolicyRule[]>>>>;

/** `nodepools get, secrets get and list`, for --help. */
export function rulesText(rules: readonly PolicyRule[]): string {
  const texts = rules.map(({ resourceNames = [], resources, verbs }) => {
    const named = resourceNames.length === 0 ? "" : ` (${resourceNames.join(", ")})`;
    return `${resources.join(", ")}${named} ${verbs.join(" and ")}`;
  });
  return texts.join(", ");
}

/** The Ignition server's, for a Role in the namespace of the token Secrets. */
export const servingRules: readonly PolicyRule[] = [
  rule("", "secrets", "get list watch update delete"),
  rule("", "configmaps", "get"),
  rule("", "events", "create"),
];

/** Workers' own tokens end when their nodes are Ready. */
const workersWatchRule = rule(WORKER_GROUP, "workers", "list watch");

/** The Ignition server's, for a Role in the namespace of the inventory and the Workers. */
export function claimRules(name: string): readonly PolicyRule[] {
  return [rule("", "configmaps", "create"), rule("", "configmaps", "get update", name), workersWatchRule];
}

/** For one Role when both are one namespace: reading claims takes no further right there. */
export function servingAndClaimRules(name: string): readonly PolicyRule[] {
  return [...servingRules, rule("", "configmaps", "create"), rule("", "configmaps", "update", name), workersWatchRule];
}

/** Name of the controller's Lease, ServiceAccount and Deployment. */
export const CONTROLLER_NAME = "drawbridge-nodepool-controller";

/** The controller's, for a ClusterRole: only to see whether HyperShift is here. */
export const controllerClusterRules: readonly PolicyRule[] = [
  rule("apiextensions.k8s.io", "customresourcedefinitions", "get", CRD_NAME, HOSTED_CLUSTERS_CRD_NAME),
  rule("apps", "deployments", "get", operator.name),
];

/** Name of the Role for tokens of the ServiceAccount that machines join with. */
export const BOOTSTRAP_TOKEN_ROLE_NAME = "drawbridge-bootstrap-token";

/** The controller's, for a Role in the namespace of that ServiceAccount, in the cluster that machines join. */
export const bootstrapTokenRules: readonly PolicyRule[] = [
  rule("", "serviceaccounts/token", "create", BOOTSTRAPPER.name),
];

/** The controller's, for a Role in the namespace of the pools. Secrets cannot be chosen by annotation. */
export const controllerNamespaceRules: readonly PolicyRule[] = [
  rule(HYPERSHIFT, "nodepools", "get list watch update"),
  rule(HYPERSHIFT, "nodepools/status", "update"),
  // OpenShift lets only those set an owner who could also delete; nothing is deleted by it.
  rule(HYPERSHIFT, "nodepools", "delete"),
  rule("", "secrets", "list watch create update delete"),
  rule("", "configmaps", "get list watch delete"),
  rule("", "events", "create"),
  rule(COORDINATION, "leases", "create"),
  rule(COORDINATION, "leases", "get update", CONTROLLER_NAME),
];

/** Name of the Lease of `drawbridge workers controller`; each provider has its own. */
export const machineLeaseName = (provider: string): string => `drawbridge-machines-${provider}`;

/** Name of the Role and, before the namespace, of the ClusterRole for it. Both are bound to nobody: it runs elsewhere. */
export const MACHINES_ROLE_NAME = "drawbridge-machines";

/** Its rights in the namespace of Workers and pools, beside those of everybody who makes workers. */
export const machineControllerRules: readonly PolicyRule[] = [
  ...workersRules,
  rule(HYPERSHIFT, "nodepools", "list watch"),
  rule(HYPERSHIFT, "nodepools/status", "update"),
  rule("", "events", "create"),
];

/** Its rights in the cluster that machines join: nodes are labelled, drained and deleted. */
export const machineControllerClusterRules: readonly PolicyRule[] = [
  rule("", "nodes", "get list update delete"),
  rule("", "pods", "list"),
  rule("", "pods/eviction", "create"),
  // To say what a machine that does not join waits for.
  rule(CERTIFICATES, "certificatesigningrequests", "list"),
];

/** As --help lists rights. */
export function rightsText(rules: readonly PolicyRule[]): string {
  return rules.map(({ resources, verbs }) => `${resources.join(", ")} ${verbs.join(", ")}`).join("; ");
}

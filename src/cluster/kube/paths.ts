/** Where the Kubernetes API keeps objects: one table of the kinds that drawbridge reads and writes. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { KubeObject } from "./port.js";

const ADMISSION = "admissionregistration.k8s.io/v1";
const RBAC = "rbac.authorization.k8s.io/v1";
const CLUSTER_WIDE = true;

const KINDS = {
  APIService: ["apiregistration.k8s.io/v1", "apiservices", CLUSTER_WIDE],
  CertificateSigningRequest: ["certificates.k8s.io/v1", "certificatesigningrequests", CLUSTER_WIDE],
  ClusterRole: [RBAC, "clusterroles", CLUSTER_WIDE],
  ClusterRoleBinding: [RBAC, "clusterrolebindings", CLUSTER_WIDE],
  ConfigMap: ["v1", "configmaps"],
  CustomResourceDefinition: ["apiextensions.k8s.io/v1", "customresourcedefinitions", CLUSTER_WIDE],
  DaemonSet: ["apps/v1", "daemonsets"],
  Deployment: ["apps/v1", "deployments"],
  Endpoints: ["v1", "endpoints"],
  EndpointSlice: ["discovery.k8s.io/v1", "endpointslices"],
  Event: ["v1", "events"],
  HostedCluster: ["hypershift.openshift.io/v1beta1", "hostedclusters"],
  Lease: ["coordination.k8s.io/v1", "leases"],
  MutatingWebhookConfiguration: [ADMISSION, "mutatingwebhookconfigurations", CLUSTER_WIDE],
  Namespace: ["v1", "namespaces", CLUSTER_WIDE],
  Network: ["config.openshift.io/v1", "networks", CLUSTER_WIDE],
  NetworkPolicy: ["networking.k8s.io/v1", "networkpolicies"],
  Node: ["v1", "nodes", CLUSTER_WIDE],
  NodePool: ["hypershift.openshift.io/v1beta1", "nodepools"],
  Pod: ["v1", "pods"],
  Role: [RBAC, "roles"],
  RoleBinding: [RBAC, "rolebindings"],
  Route: ["route.openshift.io/v1", "routes"],
  Secret: ["v1", "secrets"],
  SelfSubjectAccessReview: ["authorization.k8s.io/v1", "selfsubjectaccessreviews", CLUSTER_WIDE],
  SelfSubjectReview: ["authentication.k8s.io/v1", "selfsubjectreviews", CLUSTER_WIDE],
  Service: ["v1", "services"],
  ServiceAccount: ["v1", "serviceaccounts"],
  TokenReview: ["authentication.k8s.io/v1", "tokenreviews", CLUSTER_WIDE],
  ValidatingWebhookConfiguration: [ADMISSION, "validatingwebhookconfigurations", CLUSTER_WIDE],
  Worker: ["drawbridge.dev/v1alpha1", "workers"],
} as const satisfies Readonly<Record<string, readonly [apiVersion: string, plural: string, isClusterWide?: true]>>;

export type Kind = keyof typeof KINDS;

export const apiVersionOf = (kind: Kind): string => KINDS[kind][0];
export const isClusterWide = (kind: Kind): boolean => KINDS[kind].length === 3;

/** All namespaces when none is given. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const [apiVersion, plural] = KINDS[kind];
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}${namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`}/${plural}`;
}

export function namedPath(kind: Kind, at: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${collectionPath(kind, at.namespace)}/${encodeURIComponent(at.name)}`;
}

/** Throws a sentence when the object's kind is not in the table, or when it has no name or no namespace but needs one. */
export function objectPath({ apiVersion, kind = "", metadata }: KubeObject): string {
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind as Kind] : undefined;
  if (known === undefined || (apiVersion !== undefined && apiVersion !== known[0])) {
    throw unusable(`${kind || "object without a kind"} of ${apiVersion}`, "is of a kind that drawbridge does not know");
  }
  const { name = "", namespace } = metadata ?? {};
  if (name === "" || (known[2] === undefined && !namespace)) {
    throw unusable(`${kind} ${name}`.trimEnd(), `has no ${name === "" ? "name" : "namespace"}`);
  }
  return namedPath(kind as Kind, { name, namespace: known[2] === undefined ? namespace : undefined });
}

function unusable(what: string, why: string): DrawbridgeError {
  return new DrawbridgeError("DB_API_REQUEST", `The ${what} ${why}, so the Kubernetes API cannot be asked for it.`);
}

/** `Deployment kube-system/agent`, as messages name an object. */
export function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata?.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata?.name}`;
}

/** The object with its kind and version, which members of lists lack and written objects need. */
export function typed<T extends KubeObject>(kind: Kind, object: T): T {
  return { ...object, apiVersion: apiVersionOf(kind), kind };
}

/** Where the API keeps each kind that we render. */
import type { Manifest } from "../render/manifest.js";

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

const resource = (apiVersion: string, kind: string, plural: string): Resource => ({ apiVersion, kind, plural });

/** In the order in which they are deleted: what runs first, what it was given last. */
export const resources: readonly Resource[] = [
  resource("apps/v1", "DaemonSet", "daemonsets"),
  resource("apps/v1", "Deployment", "deployments"),
  resource("route.openshift.io/v1", "Route", "routes"),
  resource("v1", "Service", "services"),
  resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
  resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
  resource("rbac.authorization.k8s.io/v1", "Role", "roles"),
  resource("v1", "ServiceAccount", "serviceaccounts"),
  resource("v1", "ConfigMap", "configmaps"),
  resource("v1", "Secret", "secrets"),
];

const namespaces = resource("v1", "Namespace", "namespaces");

export function collectionPath({ apiVersion, plural }: Resource, namespace: string | undefined): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

export function objectPath({ apiVersion, kind, metadata }: Manifest): string {
  const found = [...resources, namespaces].find((each) => each.kind === kind && each.apiVersion === apiVersion);
  if (found === undefined) throw new Error(`${apiVersion} ${kind} is not among the kinds that are rendered`);
  return `${collectionPath(found, metadata.namespace)}/${encodeURIComponent(metadata.name)}`;
}

export const titleOf = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;

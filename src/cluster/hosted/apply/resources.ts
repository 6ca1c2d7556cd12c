/** Where the API keeps each kind that we render. */
import { AGENT_NAMESPACE, API_NAMESPACE } from "../model/names.js";
import type { Manifest, Side } from "../render/manifest.js";

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  /** Where the hosted cluster has ours; undefined is no namespace. */
  readonly hosted: string | undefined;
  readonly isHostedOnly: boolean;
}

const resource = (apiVersion: string, kind: string, plural: string, special: Partial<Resource> = {}): Resource => ({
  ...{ apiVersion, kind, plural, hosted: AGENT_NAMESPACE, isHostedOnly: false },
  ...special,
});

/** In the order in which they are deleted: what runs first, what it was given last. */
const resources: readonly Resource[] = [
  // While their Services still lead somewhere: an API without a server keeps namespaces from being deleted.
  resource("apiregistration.k8s.io/v1", "APIService", "apiservices", { hosted: undefined, isHostedOnly: true }),
  resource("apps/v1", "DaemonSet", "daemonsets"),
  resource("apps/v1", "Deployment", "deployments"),
  resource("route.openshift.io/v1", "Route", "routes"),
  resource("v1", "Service", "services", { hosted: API_NAMESPACE }),
  // The management cluster's are its own, although they carry the labels of our Services.
  resource("v1", "Endpoints", "endpoints", { hosted: API_NAMESPACE, isHostedOnly: true }),
  resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
  resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
  resource("rbac.authorization.k8s.io/v1", "Role", "roles"),
  resource("v1", "ServiceAccount", "serviceaccounts"),
  resource("v1", "ConfigMap", "configmaps"),
  resource("v1", "Secret", "secrets"),
];

const namespaces = resource("v1", "Namespace", "namespaces");

/** Every collection that can have ours. */
export function collectionsOf(side: Side, controlPlaneNamespace: string) {
  return resources
    .filter(({ isHostedOnly }) => side === "hosted" || !isHostedOnly)
    .map((each) => {
      const namespace = side === "hosted" ? each.hosted : controlPlaneNamespace;
      return { apiVersion: each.apiVersion, kind: each.kind, namespace, path: collectionPath(each, namespace) };
    });
}

function collectionPath({ apiVersion, plural }: Resource, namespace: string | undefined): string {
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

/** Objects that are installed, and where the API keeps them. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const plurals: Readonly<Record<string, string>> = {
  CustomResourceDefinition: "customresourcedefinitions",
  Namespace: "namespaces",
  ServiceAccount: "serviceaccounts",
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings",
  NetworkPolicy: "networkpolicies",
  Service: "services",
  Deployment: "deployments",
};

export function manifestPath({ apiVersion, kind, metadata }: Manifest): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return `${root}${place}/${plurals[kind]}/${metadata.name}`;
}

export function titleOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
}

/** Where the API has an object. Only the kinds a bridge consists of. */
const plurals: Readonly<Record<string, string>> = {
  DaemonSet: "daemonsets",
  MutatingWebhookConfiguration: "mutatingwebhookconfigurations",
  Namespace: "namespaces",
  Pod: "pods",
  RoleBinding: "rolebindings",
  Secret: "secrets",
  ServiceAccount: "serviceaccounts",
  ValidatingWebhookConfiguration: "validatingwebhookconfigurations",
};

export interface ObjectKind {
  readonly apiVersion: string;
  readonly kind: string;
}

const ADMISSION = "admissionregistration.k8s.io/v1";

/** In no namespace, so none takes them along. */
export const webhookConfigurations: readonly ObjectKind[] = [
  { apiVersion: ADMISSION, kind: "ValidatingWebhookConfiguration" },
  { apiVersion: ADMISSION, kind: "MutatingWebhookConfiguration" },
];

export function objectPath(object: ObjectKind & { metadata: { name: string; namespace?: string } }): string {
  const { name, namespace } = object.metadata;
  return `${collectionPath(object, namespace)}/${name}`;
}

/** All namespaces when none is given. */
export function collectionPath({ apiVersion, kind }: ObjectKind, namespace?: string): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = plurals[kind];
  if (plural === undefined) throw new Error(`a bridge has no ${kind}`);
  return `${root}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}`;
}

/** Which object, or which collection, a path of the API means. */
import { KubeApiError } from "../../../kube/errors.js";

export interface Place {
  readonly kind: string;
  readonly namespace: string;
  /** `kind/namespace/name`; without the name for a collection. */
  readonly key: string;
  readonly isStatus: boolean;
}

const kinds: Readonly<Record<string, string>> = {
  "/apis/hypershift.openshift.io/v1beta1 nodepools": "NodePool",
  "/apis/coordination.k8s.io/v1 leases": "Lease",
  "/api/v1 configmaps": "ConfigMap",
  "/api/v1 secrets": "Secret",
};

const shape = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(\/status)?$/;
/** Names become file names. */
const safe = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

export function placeOf(path: string): Place {
  const [, root, namespace = "", plural, name = "", status] = shape.exec(path)?.map((part) => decoded(part)) ?? [];
  const kind = kinds[`${root} ${plural}`];
  if (kind === undefined) throw refusal(404, `a directory has no ${path}`);
  for (const part of [namespace, name || namespace]) {
    if (!safe.test(part)) throw refusal(422, `"${part}" cannot be a name: lower-case letters, digits, dashes and dots`);
  }
  return { kind, namespace, key: `${kind}/${namespace}/${name}`, isStatus: status !== undefined };
}

function decoded(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decodeURIComponent(part);
}

function refusal(status: number, sentence: string): KubeApiError {
  return new KubeApiError(sentence, { status, reason: status === 404 ? "NotFound" : "Invalid" });
}

/** Which object, or which collection, a path of the API means. */
import { KubeApiError } from "../../../kube/errors.js";

export interface Place {
  readonly kind: string;
  /** Empty for what belongs to no namespace. */
  readonly namespace: string;
  /** `kind/namespace/name`; without the name for a collection. */
  readonly key: string;
  /** The status alone is written: `/status`, and `/approval` of requests. */
  readonly isStatus: boolean;
}

const kinds: Readonly<Record<string, string>> = {
  "/apis/hypershift.openshift.io/v1beta1 nodepools": "NodePool",
  "/apis/coordination.k8s.io/v1 leases": "Lease",
  "/api/v1 configmaps": "ConfigMap",
  "/api/v1 secrets": "Secret",
};

/** Those that belong to no namespace. */
const clusterKinds: Readonly<Record<string, string>> = {
  "/apis/certificates.k8s.io/v1 certificatesigningrequests": "CertificateSigningRequest",
  "/api/v1 nodes": "Node",
};

export const isClusterKind = (kind: string | undefined): boolean =>
  Object.values(clusterKinds).some((one) => one === kind);

const CLUSTER_SHAPE = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/([^/]+)(?:\/([^/]+))?(\/status|\/approval)?$/;
const SHAPE = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(\/status)?$/;
/** Names become file names. */
const SAFE = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

export function placeOf(path: string): Place {
  return clusterPlaceOf(path) ?? namespacedPlaceOf(path);
}

function clusterPlaceOf(path: string): Place | undefined {
  const [, root, plural, name = "", status] = CLUSTER_SHAPE.exec(path)?.map((part) => decoded(part)) ?? [];
  const kind = clusterKinds[`${root} ${plural}`];
  if (kind === undefined) return undefined;
  if (name !== "") requireName(name);
  return { kind, namespace: "", key: `${kind}//${name}`, isStatus: status !== undefined };
}

function namespacedPlaceOf(path: string): Place {
  const [, root, namespace = "", plural, name = "", status] = SHAPE.exec(path)?.map((part) => decoded(part)) ?? [];
  const kind = kinds[`${root} ${plural}`];
  if (kind === undefined) throw refusal(404, `a directory has no ${path}`);
  for (const part of [namespace, name || namespace]) requireName(part);
  return { kind, namespace, key: `${kind}/${namespace}/${name}`, isStatus: status !== undefined };
}

function requireName(part: string): void {
  if (!SAFE.test(part)) throw refusal(422, `"${part}" cannot be a name: lower-case letters, digits, dashes and dots`);
}

function decoded(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decodeURIComponent(part);
}

function refusal(status: number, sentence: string): KubeApiError {
  return new KubeApiError(sentence, { status, reason: status === 404 ? "NotFound" : "Invalid" });
}

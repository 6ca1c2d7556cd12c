/** The collections that can hold objects of a hosted control plane. */
import { collectionPath, type Kind } from "../../kube/paths.js";
import { AGENT_NAMESPACE, API_NAMESPACE } from "../model/names.js";
import type { Side } from "../render/manifest.js";

interface Collection {
  readonly kind: Kind;
  /** Where the hosted cluster has ours; undefined is no namespace. */
  readonly hosted: string | undefined;
  readonly isHostedOnly?: true;
}

/** In the order in which they are deleted: what runs first, what it was given last. */
const COLLECTIONS: readonly Collection[] = [
  // While their Services still lead somewhere: an API without a server keeps namespaces from being deleted.
  { kind: "APIService", hosted: undefined, isHostedOnly: true },
  { kind: "DaemonSet", hosted: AGENT_NAMESPACE },
  { kind: "Deployment", hosted: AGENT_NAMESPACE },
  { kind: "Route", hosted: AGENT_NAMESPACE },
  { kind: "Service", hosted: API_NAMESPACE },
  // The management cluster's are its own, although they carry the labels of our Services.
  { kind: "Endpoints", hosted: API_NAMESPACE, isHostedOnly: true },
  { kind: "NetworkPolicy", hosted: AGENT_NAMESPACE },
  { kind: "RoleBinding", hosted: AGENT_NAMESPACE },
  { kind: "Role", hosted: AGENT_NAMESPACE },
  { kind: "ServiceAccount", hosted: AGENT_NAMESPACE },
  { kind: "ConfigMap", hosted: AGENT_NAMESPACE },
  { kind: "Secret", hosted: AGENT_NAMESPACE },
];

export function collectionsOf(side: Side, controlPlaneNamespace: string) {
  return COLLECTIONS.filter(({ isHostedOnly }) => side === "hosted" || !isHostedOnly).map(({ kind, hosted }) => {
    const namespace = side === "hosted" ? hosted : controlPlaneNamespace;
    return { kind, namespace, path: collectionPath(kind, namespace) };
  });
}

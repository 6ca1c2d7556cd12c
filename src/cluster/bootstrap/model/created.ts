/** Everything a bridge leaves somewhere, in the order in which it has to go. */
import { apiServerFlag } from "./arguments.js";
import type { BridgeModel } from "./model.js";
import { AGENT_CERTS_SECRET, AGENT_NAME, SERVER_NAME, SERVER_NAMESPACE, SERVER_UNIT } from "./names.js";
import { openshiftHost } from "./paths.js";

export interface CreatedObject {
  readonly type: "object";
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** A change in somebody else's process: it has to be undone, and to have taken effect, before anything else goes. */
export interface CreatedSetting {
  readonly type: "setting";
  readonly of: "kube-apiserver";
  readonly flag: string;
  readonly value: string;
  /** Names of the volumes that a kube-apiserver in a pod was given for it. */
  readonly volumes: readonly string[];
}

export interface CreatedStaticPod {
  readonly type: "static-pod";
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
}

export interface CreatedUnit {
  readonly type: "unit";
  readonly path: string;
  readonly name: string;
}

export interface CreatedPath {
  /** A directory goes with everything in it. */
  readonly type: "socket" | "file" | "directory";
  readonly path: string;
}

export type Created = CreatedObject | CreatedSetting | CreatedStaticPod | CreatedUnit | CreatedPath;

export const egressVolumes = { socket: "drawbridge-bootstrap-socket", config: "drawbridge-bootstrap-egress" } as const;

/**
 * The teardown list. On OpenShift the changed kube-apiserver is itself torn down before, so nothing is to be restored;
 * elsewhere that comes first, because every other order breaks the webhooks it calls.
 */
export function createdObjects(model: BridgeModel): Created[] {
  return [...settings(model), ...clusterObjects(model), ...server(model), ...hostPaths(model)];
}

/** What stands in the cluster: the part that can be removed from a workstation. */
export function clusterObjects({ for: topology, namespace, agentNetwork }: BridgeModel): CreatedObject[] {
  const withScc: CreatedObject[] =
    topology === "openshift" && agentNetwork === "host"
      ? [
          object("rbac.authorization.k8s.io/v1", "RoleBinding", AGENT_NAME, namespace),
          object("v1", "ServiceAccount", AGENT_NAME, namespace),
        ]
      : [];
  return [
    object("apps/v1", "DaemonSet", AGENT_NAME, namespace),
    ...withScc,
    object("v1", "Secret", AGENT_CERTS_SECRET, namespace),
    object("v1", "Namespace", namespace),
  ];
}

/** Where earlier integrations put the agents' objects; a teardown looks there too. */
export const olderLayout: readonly CreatedObject[] = [
  object("apps/v1", "DaemonSet", AGENT_NAME, "kube-system"),
  object("v1", "Secret", AGENT_CERTS_SECRET, "kube-system"),
];

function settings(model: BridgeModel): CreatedSetting[] {
  if (model.for === "openshift") return [];
  const { name, value } = apiServerFlag(model);
  return [{ type: "setting", of: "kube-apiserver", flag: name, value, volumes: Object.values(egressVolumes) }];
}

function server({ server: { form }, paths }: BridgeModel): Created[] {
  if (form === "static-pod")
    return [{ type: "static-pod", path: paths.staticPod, namespace: SERVER_NAMESPACE, name: SERVER_NAME }];
  return form === "systemd" ? [{ type: "unit", path: paths.unit, name: SERVER_UNIT }] : [];
}

function hostPaths({ for: topology, paths }: BridgeModel): CreatedPath[] {
  const file = (path: string): CreatedPath => ({ type: "file", path });
  return [
    // What lies in a directory goes before it, or it would be gone when it is its turn.
    { type: "socket", path: paths.socket.host },
    file(paths.egressConfig.host),
    ...paths.ownDirectories.map(({ path }): CreatedPath => ({ type: "directory", path })),
    ...(paths.tmpfiles === undefined ? [] : [file(paths.tmpfiles)]),
    ...(topology === "openshift" ? openshiftPaths().map(file) : []),
  ];
}

function openshiftPaths(): string[] {
  const { assets, manifests, stages, ...shipped } = openshiftHost;
  return [...Object.values(manifests), ...Object.values(shipped), ...stages.map((stage) => `${assets}/${stage}.done`)];
}

function object(apiVersion: string, kind: string, name: string, namespace?: string): CreatedObject {
  return { type: "object", apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

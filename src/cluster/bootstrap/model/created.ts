/** Everything a bridge leaves somewhere, in the order in which it has to go. */
import type { BridgeModel } from "./model.js";
import {
  AGENT_CERTS_SECRET,
  AGENT_NAME,
  CLEANUP_UNIT,
  openshiftHost,
  openshiftShipped,
  openshiftStageMarks,
  pkiFile,
  SERVER_NAME,
  SERVER_NAMESPACE,
  SERVER_UNIT,
  secretKeys,
} from "./names.js";

export interface CreatedObject {
  readonly type: "object";
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Everything that a bridge makes on its host and in the cluster, as its record and its receipt name it. */
export type BridgeThing =
  | CreatedObject
  | {
      /** A change in somebody else's process: it has to be undone, and in effect, before anything else goes. */
      readonly type: "setting";
      readonly of: "kube-apiserver";
      readonly flag: string;
      readonly value: string;
      /** Names of the volumes that a kube-apiserver in a pod was given for it. */
      readonly volumes: readonly string[];
    }
  | { readonly type: "static-pod"; readonly path: string; readonly namespace: string; readonly name: string }
  | { readonly type: "unit"; readonly path: string; readonly name: string }
  /** A server that nobody but us keeps; found by its socket, which no other process names. */
  | { readonly type: "process"; readonly socket: string }
  /** A directory goes with everything in it; one above it that was missing, a parent, when nothing else is in it. */
  | { readonly type: "socket" | "file" | "directory" | "parent"; readonly path: string };

export const egressVolumes = { socket: "drawbridge-bootstrap-socket", config: "drawbridge-bootstrap-egress" } as const;

/**
 * The teardown list. On OpenShift the changed kube-apiserver is itself torn down before, so nothing is to be restored;
 * elsewhere that comes first, because every other order breaks the webhooks it calls.
 */
export function createdObjects(model: BridgeModel): BridgeThing[] {
  return [
    ...settings(model),
    ...clusterObjects(model),
    ...(model.for === "openshift" ? [cleanupUnit] : []),
    serverThing(model),
    ...hostPaths(model),
  ];
}

const cleanupUnit: BridgeThing = { type: "unit", path: openshiftHost.cleanupUnit, name: CLEANUP_UNIT };

/** The objects in the cluster: the part that can be removed from a workstation. */
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

function settings(model: BridgeModel): BridgeThing[] {
  if (model.for === "openshift") return [];
  const { name, value } = egressFlag(model);
  return [{ type: "setting", of: "kube-apiserver", flag: name, value, volumes: Object.values(egressVolumes) }];
}

export function serverThing({ server: { form }, paths }: BridgeModel): BridgeThing {
  if (form === "process") return { type: "process", socket: paths.socket.server };
  if (form === "systemd") return { type: "unit", path: paths.unit, name: SERVER_UNIT };
  return { type: "static-pod", path: paths.staticPod, namespace: SERVER_NAMESPACE, name: SERVER_NAME };
}

function hostPaths({ for: topology, paths }: BridgeModel): BridgeThing[] {
  const file = (path: string): BridgeThing => ({ type: "file", path });
  return [
    // What lies in a directory goes before it, or it would be gone when it is its turn.
    { type: "socket", path: paths.socket.host },
    file(paths.egressConfig.host),
    ...paths.ownDirectories.map(({ path }): BridgeThing => ({ type: "directory", path })),
    ...(paths.tmpfiles === undefined ? [] : [file(paths.tmpfiles)]),
    ...(topology === "openshift"
      ? [
          ...Object.values(openshiftHost.manifests),
          ...openshiftShipped.filter((path) => path !== openshiftHost.cleanupUnit),
          ...openshiftStageMarks,
          openshiftHost.cleanupState,
        ].map(file)
      : []),
  ];
}

function object(apiVersion: string, kind: string, name: string, namespace?: string): CreatedObject {
  return { type: "object", apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

export type FirewallRule = ReturnType<typeof firewallRule>;

/** The one thing a network has to let through, until the bridge is gone; platforms translate it into their own rules. */
export function firewallRule({ ports }: Pick<BridgeModel, "ports">) {
  return {
    proto: "tcp",
    port: ports.agent,
    // Agents in the pod network arrive with their node's address, so nodes are the source in both cases.
    from: ["control-plane", "workers"],
    to: "bootstrap",
    lifetime: "bootstrap",
  } as const;
}

/** Where the agents' Secret is mounted. */
export const AGENT_PKI_DIRECTORY = "/etc/konnectivity";

// Peers may ping at most this often before a server hangs up.
const KEEPALIVE = "--keepalive-time=30s";

/** The bridge ends with its certificates. Upstream's programs do not know the flag: there streams stay till teardown. */
const timeBoxed = ({ images }: BridgeModel): string[] => (images.kind === "drawbridge" ? ["--time-boxed"] : []);

/** An agent without tunnels ends at once, others within the pod's grace; without the flag they wait to be killed. */
const drain = ({ images }: BridgeModel): string[] => (images.kind === "drawbridge" ? ["--drain-timeout=8s"] : []);

/** The server's flags; the same for the payload's, upstream's and our program, but for one of ours. */
export function serverArguments(model: BridgeModel): string[] {
  const { paths, ports, protocol, serverAddresses } = model;
  const { server: pki } = paths.pki;
  return [
    "--logtostderr=true",
    `--mode=${protocol.serverMode}`,
    `--uds-name=${paths.socket.server}`,
    // Upstream refuses a socket while its TCP frontend is open too.
    "--server-port=0",
    `--agent-port=${ports.agent}`,
    `--health-port=${ports.serverHealth}`,
    `--admin-port=${ports.admin}`,
    `--cluster-cert=${pkiFile(pki, "serverCert")}`,
    `--cluster-key=${pkiFile(pki, "serverKey")}`,
    // Without it anyone who reaches the port could become an agent.
    `--cluster-ca-cert=${pkiFile(pki, "ca")}`,
    // Agents announce nothing else. Upstream's server is ready when its first strategy has an agent: destHost in front, as
    // OpenShift's installer has it, would keep it unready for good.
    "--proxy-strategies=defaultRoute",
    KEEPALIVE,
    "--frontend-keepalive-time=30s",
    ...(serverAddresses.length > 1 ? [`--server-count=${serverAddresses.length}`] : []),
    ...timeBoxed(model),
  ];
}

/** The agent's flags; the same for all programs, but for two of ours. */
export function agentArguments(model: BridgeModel): string[] {
  const { ports, serverAddresses } = model;
  return [
    "--logtostderr=true",
    `--ca-cert=${AGENT_PKI_DIRECTORY}/${secretKeys.ca}`,
    `--agent-cert=${AGENT_PKI_DIRECTORY}/${secretKeys.cert}`,
    `--agent-key=${AGENT_PKI_DIRECTORY}/${secretKeys.key}`,
    ...serverAddresses.map((address) => `--proxy-server-host=${address}`),
    `--proxy-server-port=${ports.agent}`,
    `--health-server-port=${ports.agentHealth}`,
    "--agent-identifiers=default-route=true",
    KEEPALIVE,
    "--probe-interval=5s",
    "--sync-interval=5s",
    // Must be at least the interval; the default would be 10 s.
    "--sync-interval-cap=30s",
    ...drain(model),
    ...timeBoxed(model),
  ];
}

export const EGRESS_FLAG = "egress-selector-config-file";

/** What the kube-apiserver is started with, and nothing else. */
export const egressFlag = ({ paths }: BridgeModel) => ({ name: EGRESS_FLAG, value: paths.egressConfig.apiServer });

/** Names that both ends of the bridge, its teardown and its diagnosis agree on. */
import { posix } from "node:path";

/** Where a bridge is built: an OpenShift bootstrap host, a kubeadm control plane, or a kube-apiserver somebody runs by hand. */
export type Topology = "openshift" | "kubeadm" | "bare";

export const topologies = ["openshift", "kubeadm", "bare"] as const satisfies readonly Topology[];

/** Carried by every object of the bridge, also outside OpenShift: one selector finds all that must go. */
export const bootstrapOnlyLabel = { "openshift.io/bootstrap-only": "true" } as const;
export const BOOTSTRAP_ONLY_SELECTOR = "openshift.io/bootstrap-only=true";

export const namespaces = {
  openshift: "openshift-bootstrap-konnectivity",
  kubeadm: "drawbridge-bootstrap",
  bare: "drawbridge-bootstrap",
} as const satisfies Record<Topology, string>;

export const SERVER_NAME = "konnectivity-server";
export const AGENT_NAME = "konnectivity-agent";
export const AGENT_CERTS_SECRET = "konnectivity-agent-certs";
/** Static pods of a control plane live here on every topology. */
export const SERVER_NAMESPACE = "kube-system";

/** The kube-apiserver's static pod as kubeadm names it, in the directory of manifests. */
export const KUBEADM_MANIFEST = "kube-apiserver.yaml";

export const SERVER_UNIT = "drawbridge-bootstrap-server.service";
/** On an OpenShift bootstrap host: goes on with a clean-up that bootkube.sh could not finish. */
export const CLEANUP_UNIT = "konnectivity-cleanup.service";

/** What OpenShift (from 4.11 on) admits host-network agents by. */
export const HOST_NETWORK_SCC = "system:openshift:scc:hostnetwork-v2";

export const ports = {
  /** Agents dial this one; the only port that firewalls must open. */
  agent: 8091,
  health: 2041,
  /**
   * A host-network agent may run on the server's own host (a single node, a kubeadm control plane), where 2041 is
   * taken.
   */
  agentHealthOnHost: 2042,
  /** On 127.0.0.1 only, upstream's default. */
  admin: 8095,
} as const;

/** Files inside a PKI directory, and the keys of the agents' Secret. */
export const pkiFiles = {
  ca: "ca.crt",
  caKey: "ca.key",
  serverCert: "server.crt",
  serverKey: "server.key",
  agentCert: "agent.crt",
  agentKey: "agent.key",
} as const;

export const secretKeys = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;

const variable = (name: string): string => `\${${name}}`;

/** What stays open in a rendering until the host knows it; the injected shell fills these with `sed`, delimiter `|`. */
export const placeholders = {
  image: variable("KONNECTIVITY_IMAGE"),
  address: variable("BOOTSTRAP_NODE_IP"),
  agentCert: variable("KONNECTIVITY_AGENT_CERT_BASE64"),
  agentKey: variable("KONNECTIVITY_AGENT_KEY_BASE64"),
  ca: variable("KONNECTIVITY_CA_CERT_BASE64"),
} as const;

const SOCKET_NAME = "konnectivity-server.socket";
const EGRESS_NAME = "egress-selector-config.yaml";
const PKI_IN_CONTAINER = "/etc/konnectivity";
const STATIC_POD_NAME = "konnectivity-server-pod.yaml";
const OWN_NAME = "drawbridge-bootstrap";

/** Directories somebody chose instead of ours. */
export interface OwnPlaces {
  /** The socket's. */
  readonly runtimeDirectory?: string | undefined;
  readonly configDirectory?: string | undefined;
  readonly pkiDirectory?: string | undefined;
  /** Where the kubelet looks for static pods. */
  readonly manifestsDirectory?: string | undefined;
}

/** `inContainer`: the server is a pod, which sees the PKI under a name of its own. */
export function pathsFor(topology: Topology, places: OwnPlaces, inContainer: boolean) {
  const isOpenShift = topology === "openshift";
  // The bootstrap kube-apiserver has one directory of this kind mounted, under another name; the bridge shares it.
  const shared = "/etc/kubernetes/bootstrap-configs";
  const runtime = isOpenShift ? shared : (places.runtimeDirectory ?? `/run/${OWN_NAME}`);
  // Beside kubeadm's own files; a bare host may have no /etc/kubernetes.
  const usual = topology === "kubeadm" ? `/etc/kubernetes/${OWN_NAME}` : `/etc/${OWN_NAME}`;
  const config = isOpenShift ? shared : (places.configDirectory ?? usual);
  const pki = isOpenShift ? "/opt/openshift/tls/konnectivity" : (places.pkiDirectory ?? posix.join(config, "pki"));
  /** One path under the names it has on the host, in the server and in the kube-apiserver. */
  const everywhere = (host: string) => ({
    host,
    server: host,
    apiServer: isOpenShift ? host.replace(shared, "/etc/kubernetes/config") : host,
  });
  return {
    /** The Unix socket of the server's frontend. */
    socket: everywhere(posix.join(runtime, SOCKET_NAME)),
    socketDirectory: everywhere(runtime),
    /** The kube-apiserver reads it once, when it starts. */
    egressConfig: everywhere(posix.join(config, EGRESS_NAME)),
    pki: { host: pki, server: inContainer ? PKI_IN_CONTAINER : pki },
    /** The static pod's manifest, where the server is one. */
    staticPod: posix.join(places.manifestsDirectory ?? "/etc/kubernetes/manifests", STATIC_POD_NAME),
    /** The systemd unit's file, where the server is one. */
    unit: `/etc/systemd/system/${SERVER_UNIT}`,
    /** Makes the socket's directory again after a reboot, as a systemd unit does by itself; undefined where that is not needed. */
    tmpfiles: inContainer && !isOpenShift ? `/etc/tmpfiles.d/${OWN_NAME}.conf` : undefined,
    /** Directories that belong to the bridge alone and go with everything in them. */
    ownDirectories: [
      // The socket opens the whole pod network: nobody but its owner and group passes this directory.
      ...(isOpenShift ? [] : [{ path: runtime, mode: 0o770 }]),
      { path: pki, mode: 0o700 },
      ...(isOpenShift ? [] : [{ path: config, mode: 0o755 }]),
    ],
  };
}

/** The files a bootstrap.ign carries and what the host's scripts make of them (OpenShift only). */
export const openshiftHost = {
  assets: "/opt/openshift",
  functions: "/usr/local/bin/konnectivity.sh",
  certs: "/usr/local/bin/konnectivity-certs.sh",
  cleanupUnit: `/etc/systemd/system/${CLEANUP_UNIT}`,
  egressConfig: `/opt/openshift/${EGRESS_NAME}`,
  configOverride: "/opt/openshift/konnectivity-config-override.yaml",
  serverPod: `/opt/openshift/${STATIC_POD_NAME}`,
  namespace: "/opt/openshift/konnectivity-namespace.yaml",
  agentCertsSecret: "/opt/openshift/konnectivity-agent-certs-secret.yaml",
  /** Only with host-network agents. */
  agentServiceAccount: "/opt/openshift/konnectivity-agent-serviceaccount.yaml",
  agentRoleBinding: "/opt/openshift/konnectivity-agent-rolebinding.yaml",
  agentDaemonSet: "/opt/openshift/konnectivity-agent-daemonset.yaml",
  /** Filled in and put where cluster-bootstrap creates them from: one object a file. */
  manifests: {
    namespace: "/opt/openshift/manifests/konnectivity-namespace.yaml",
    agentCertsSecret: "/opt/openshift/manifests/konnectivity-agent-certs.yaml",
    agentDaemonSet: "/opt/openshift/manifests/konnectivity-agent-daemonset.yaml",
    agentServiceAccount: "/opt/openshift/manifests/konnectivity-agent-serviceaccount.yaml",
    agentRoleBinding: "/opt/openshift/manifests/konnectivity-agent-rolebinding.yaml",
  },
  /** How a clean-up stands that outlasted its stage; see cleanup.ts. */
  cleanupState: "/opt/openshift/konnectivity-cleanup.json",
  /** `<stage>.done` in the assets' directory says that a stage need not run again. */
  stages: [
    "konnectivity-certs",
    "konnectivity-server-bootstrap",
    "konnectivity-agent-manifest",
    "konnectivity-cleanup",
  ],
} as const;

const { assets, manifests, stages, cleanupState, ...shipped } = openshiftHost;

/** The scripts and manifests that a bootstrap.ign carries, in its order. */
export const openshiftShipped: readonly string[] = Object.values(shipped);

/** What the host's scripts make of them: the filled-in manifests, and the marks of the stages. */
export const openshiftStageMarks = stages.map((stage) => `${assets}/${stage}.done`);

export function pkiFile(directory: string, file: keyof typeof pkiFiles): string {
  return posix.join(directory, pkiFiles[file]);
}

/** Where things lie, as the host, the server and the kube-apiserver each see them. */
import { posix } from "node:path";
import { pkiFiles, SERVER_UNIT, type Topology } from "./names.js";

/** One thing under the names it has on the host and inside the two processes. */
export interface SharedPath {
  readonly host: string;
  readonly server: string;
  readonly apiServer: string;
}

export interface BridgePaths {
  /** The front door's unix socket. */
  readonly socket: SharedPath;
  /** The socket's directory, under the same three names. */
  readonly socketDirectory: SharedPath;
  /** The kube-apiserver reads it once, when it starts. */
  readonly egressConfig: Omit<SharedPath, "server">;
  readonly pki: Omit<SharedPath, "apiServer">;
  /** The static pod's manifest, where the server is one. */
  readonly staticPod: string;
  /** The systemd unit's file, where the server is one. */
  readonly unit: string;
  /** Makes the socket's directory anew after a reboot; undefined where that is not needed. */
  readonly tmpfiles: string | undefined;
  /** Directories that belong to the bridge alone and go with everything in them. */
  readonly ownDirectories: readonly { readonly path: string; readonly mode: number }[];
}

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
export function pathsFor(topology: Topology, places: OwnPlaces, inContainer: boolean): BridgePaths {
  const staticPod = posix.join(places.manifestsDirectory ?? "/etc/kubernetes/manifests", STATIC_POD_NAME);
  const unit = `/etc/systemd/system/${SERVER_UNIT}`;
  if (topology === "openshift") return { ...openshiftPaths(), staticPod, unit };
  const runtime = places.runtimeDirectory ?? `/run/${OWN_NAME}`;
  // Beside kubeadm's own files; a bare host may have no /etc/kubernetes.
  const config =
    places.configDirectory ?? (topology === "kubeadm" ? `/etc/kubernetes/${OWN_NAME}` : `/etc/${OWN_NAME}`);
  const pki = places.pkiDirectory ?? posix.join(config, "pki");
  const egress = posix.join(config, EGRESS_NAME);
  return {
    socket: everywhere(posix.join(runtime, SOCKET_NAME)),
    socketDirectory: everywhere(runtime),
    egressConfig: { host: egress, apiServer: egress },
    pki: { host: pki, server: inContainer ? PKI_IN_CONTAINER : pki },
    staticPod,
    unit,
    // A systemd unit makes the directory by itself.
    tmpfiles: inContainer ? `/etc/tmpfiles.d/${OWN_NAME}.conf` : undefined,
    ownDirectories: [
      // The socket opens the whole pod network: nobody but its owner and group passes this directory.
      { path: runtime, mode: 0o770 },
      { path: pki, mode: 0o700 },
      { path: config, mode: 0o755 },
    ],
  };
}

function everywhere(path: string): SharedPath {
  return { host: path, server: path, apiServer: path };
}

/** The bootstrap kube-apiserver has one directory of this kind mounted, under another name; the bridge shares it. */
function openshiftPaths(): Omit<BridgePaths, "staticPod" | "unit"> {
  const onHost = "/etc/kubernetes/bootstrap-configs";
  const inApiServer = "/etc/kubernetes/config";
  const pki = "/opt/openshift/tls/konnectivity";
  return {
    socket: {
      host: posix.join(onHost, SOCKET_NAME),
      server: posix.join(onHost, SOCKET_NAME),
      apiServer: posix.join(inApiServer, SOCKET_NAME),
    },
    socketDirectory: { host: onHost, server: onHost, apiServer: inApiServer },
    egressConfig: { host: posix.join(onHost, EGRESS_NAME), apiServer: posix.join(inApiServer, EGRESS_NAME) },
    pki: { host: pki, server: PKI_IN_CONTAINER },
    tmpfiles: undefined,
    ownDirectories: [{ path: pki, mode: 0o700 }],
  };
}

/** The files a bootstrap.ign carries and what the host's scripts make of them (OpenShift only). */
export const openshiftHost = {
  assets: "/opt/openshift",
  functions: "/usr/local/bin/konnectivity.sh",
  certs: "/usr/local/bin/konnectivity-certs.sh",
  egressConfig: `/opt/openshift/${EGRESS_NAME}`,
  configOverride: "/opt/openshift/konnectivity-config-override.yaml",
  serverPod: `/opt/openshift/${STATIC_POD_NAME}`,
  namespace: "/opt/openshift/konnectivity-namespace.yaml",
  agentCertsSecret: "/opt/openshift/konnectivity-agent-certs-secret.yaml",
  agentDaemonSet: "/opt/openshift/konnectivity-agent-daemonset.yaml",
  /** Only with host-network agents. */
  agentServiceAccount: "/opt/openshift/konnectivity-agent-serviceaccount.yaml",
  agentRoleBinding: "/opt/openshift/konnectivity-agent-rolebinding.yaml",
  /** Filled in and put where cluster-bootstrap creates them from: one object a file. */
  manifests: {
    namespace: "/opt/openshift/manifests/konnectivity-namespace.yaml",
    agentCertsSecret: "/opt/openshift/manifests/konnectivity-agent-certs.yaml",
    agentDaemonSet: "/opt/openshift/manifests/konnectivity-agent-daemonset.yaml",
    agentServiceAccount: "/opt/openshift/manifests/konnectivity-agent-serviceaccount.yaml",
    agentRoleBinding: "/opt/openshift/manifests/konnectivity-agent-rolebinding.yaml",
  },
  /** `<stage>.done` in the assets' directory says that a stage need not run again. */
  stages: [
    "konnectivity-certs",
    "konnectivity-server-bootstrap",
    "konnectivity-agent-manifest",
    "konnectivity-cleanup",
  ],
} as const;

export function pkiFile(directory: string, file: keyof typeof pkiFiles): string {
  return posix.join(directory, pkiFiles[file]);
}

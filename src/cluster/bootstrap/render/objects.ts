/** The objects in the cluster: the agents, one on each node, with their certificates in a namespace of their own. */
import { bindingOf, kubeManifest, UNPRIVILEGED } from "../../kube/builders.js";
import { AGENT_PKI_DIRECTORY, agentArguments, serverArguments } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import {
  AGENT_CERTS_SECRET,
  AGENT_NAME,
  bootstrapOnlyLabel,
  HOST_NETWORK_SCC,
  placeholders,
  SERVER_NAME,
  SERVER_NAMESPACE,
  secretKeys,
} from "../model/names.js";

/** PEM texts. */
export interface AgentCertificates {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export function agentNamespace(model: BridgeModel) {
  const labels = { ...bootstrapOnlyLabel, ...agentSecurity(model).namespaceLabels };
  return kubeManifest("Namespace", { name: model.namespace, labels });
}

export function agentSecret(model: BridgeModel, certificates: AgentCertificates | undefined) {
  const base64 = (pem: string | undefined, open: string): string =>
    pem === undefined ? open : Buffer.from(pem).toString("base64");
  const data = {
    [secretKeys.cert]: base64(certificates?.cert, placeholders.agentCert),
    [secretKeys.key]: base64(certificates?.key, placeholders.agentKey),
    [secretKeys.ca]: base64(certificates?.ca, placeholders.ca),
  };
  return kubeManifest("Secret", metadata(model, AGENT_CERTS_SECRET), { type: "Opaque", data });
}

export function agentDaemonSet(model: BridgeModel) {
  const { images, ports } = model;
  const security = agentSecurity(model);
  const labels = { app: AGENT_NAME };
  return kubeManifest("DaemonSet", metadata(model, AGENT_NAME, labels), {
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, ...bootstrapOnlyLabel } },
        spec: {
          ...security.pod,
          priorityClassName: "system-node-critical",
          // Nodes under construction carry taints of all kinds, and any of them may be the one that has the webhook.
          tolerations: [{ operator: "Exists" }],
          // An agent that is terminated waits for its tunnels, and upstream's waits longer than any of them takes.
          terminationGracePeriodSeconds: 10,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          containers: [
            {
              name: AGENT_NAME,
              image: images.agent.image,
              imagePullPolicy: "IfNotPresent",
              command: images.agent.command,
              args: agentArguments(model),
              // The server's metrics and log then name nodes.
              env: [{ name: "PROXY_AGENT_ID", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
              resources: images.resources,
              ...probes(ports.agentHealth),
              securityContext: UNPRIVILEGED,
              volumeMounts: [{ name: "certificates", mountPath: AGENT_PKI_DIRECTORY, readOnly: true }],
            },
          ],
          volumes: [{ name: "certificates", secret: { secretName: AGENT_CERTS_SECRET, ...security.secretMode } }],
        },
      },
    },
  });
}

/** OpenShift admits host-network pods only for service accounts that were given an SCC which allows it. */
export function agentServiceAccount(model: BridgeModel) {
  return kubeManifest("ServiceAccount", metadata(model, AGENT_NAME));
}

export function agentRoleBinding(model: BridgeModel) {
  const account = { name: AGENT_NAME, namespace: model.namespace };
  return kubeManifest("RoleBinding", metadata(model, AGENT_NAME), bindingOf("ClusterRole", HOST_NETWORK_SCC, account));
}

function metadata({ namespace }: BridgeModel, name: string, labels: Readonly<Record<string, string>> = {}) {
  return { name, namespace, labels: { ...labels, ...bootstrapOnlyLabel } };
}

const NOBODY = 65532;

interface AgentSecurity {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** Part of the pod's spec. */
  readonly pod: object;
  /** Mode of the certificates in the pod; the default is readable by all. */
  readonly secretMode?: { readonly defaultMode: number };
}

/** What an agent's pod may do, and what its namespace has to allow for it. */
export function agentSecurity({ for: topology, agentNetwork }: BridgeModel): AgentSecurity {
  const onHost = agentNetwork === "host";
  const hostNetwork = onHost
    ? // Before the network plugin is there, the cluster's DNS is not either.
      { hostNetwork: true, dnsPolicy: "Default" }
    : {};
  if (topology === "openshift") {
    return {
      // User, group and seccomp profile are the SCC's to choose; in the pod network restricted-v2 admits the pod as it is.
      // Before 4.11 a pod that names a profile itself is refused.
      namespaceLabels: onHost
        ? { ...podSecurity("privileged"), "security.openshift.io/scc.podSecurityLabelSync": "false" }
        : {},
      pod: { ...hostNetwork, ...(onHost ? { serviceAccountName: AGENT_NAME } : {}) },
    };
  }
  return {
    namespaceLabels: podSecurity(onHost ? "privileged" : "restricted"),
    pod: {
      ...hostNetwork,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: NOBODY,
        runAsGroup: NOBODY,
        fsGroup: NOBODY,
        seccompProfile: { type: "RuntimeDefault" },
      },
    },
    secretMode: { defaultMode: 0o440 },
  };
}

function podSecurity(level: "privileged" | "restricted"): Record<string, string> {
  const prefix = "pod-security.kubernetes.io";
  return { [`${prefix}/enforce`]: level, [`${prefix}/warn`]: level, [`${prefix}/audit`]: level };
}

/** Alive means that the process answers; ready, that server and agent have each other. */
export function probes(port: number) {
  // A host under bootstrap is busy: one slow answer must not restart the tunnel.
  const every = { periodSeconds: 10, timeoutSeconds: 5 };
  return {
    livenessProbe: { httpGet: { path: "/healthz", port }, initialDelaySeconds: 10, ...every },
    readinessProbe: { httpGet: { path: "/readyz", port }, periodSeconds: 5, timeoutSeconds: 5 },
  };
}

/** The server as a static pod, which the kubelet runs without asking an API server. */
export function serverPod(model: BridgeModel) {
  const { images, paths, ports } = model;
  const labels = { app: SERVER_NAME, ...bootstrapOnlyLabel };
  return kubeManifest(
    "Pod",
    { name: SERVER_NAME, namespace: SERVER_NAMESPACE, labels },
    {
      spec: {
        hostNetwork: true,
        priorityClassName: "system-node-critical",
        containers: [
          {
            name: SERVER_NAME,
            image: images.server.image,
            imagePullPolicy: "IfNotPresent",
            command: images.server.command,
            args: serverArguments(model),
            resources: images.resources,
            ...probes(ports.serverHealth),
            securityContext: securityContext(model),
            volumeMounts: [
              { name: "socket", mountPath: paths.socketDirectory.server },
              { name: "certificates", mountPath: paths.pki.server, readOnly: true },
            ],
          },
        ],
        volumes: [
          { name: "socket", hostPath: { path: paths.socketDirectory.host, type: "DirectoryOrCreate" } },
          { name: "certificates", hostPath: { path: paths.pki.host, type: "Directory" } },
        ],
      },
    },
  );
}

/**
 * Root, because it makes a socket in a directory of root's and reads root's key; nothing more of root's powers. Where
 * SELinux rules, the directory may not be labelled for containers yet when the pod first starts: spc_t is not held up by
 * that, and unlike a privileged pod it gets no devices and no capabilities.
 */
function securityContext({ server }: BridgeModel) {
  return {
    runAsUser: 0,
    // The socket's group.
    runAsGroup: server.socketGroup,
    ...UNPRIVILEGED,
    seLinuxOptions: { type: "spc_t" },
    seccompProfile: { type: "RuntimeDefault" },
  };
}

const direct = { proxyProtocol: "Direct" } as const;

/** What makes a kube-apiserver send its calls into the cluster through the socket, and nothing else. */
export function egressConfig({ protocol, paths }: BridgeModel) {
  const transport = { uds: { udsName: paths.socket.apiServer } };
  return {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [
      { name: "cluster", connection: { proxyProtocol: protocol.egress, transport } },
      { name: "controlplane", connection: direct },
      { name: "etcd", connection: direct },
    ],
  };
}

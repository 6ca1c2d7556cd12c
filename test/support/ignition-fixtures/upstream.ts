/** The installer's own integration, in our words but with its values: switched on, or shipped without effect. */

const on: Readonly<Record<string, readonly string[]>> = {
  konnectivity_setup: [
    "BOOTSTRAP_NODE_IP=$(ip -j route get 1.1.1.1 | jq -r '.[0].prefsrc')",
    "[ -f konnectivity-certs.done ] || {",
    `  /usr/local/bin/konnectivity-certs.sh "\${BOOTSTRAP_NODE_IP}"`,
    "  touch konnectivity-certs.done",
    "}",
    "KONNECTIVITY_IMAGE=$(image_for apiserver-network-proxy)",
    `sed "s|\\\${KONNECTIVITY_IMAGE}|\${KONNECTIVITY_IMAGE}|g" konnectivity-server-pod.yaml \\`,
    "  > /etc/kubernetes/manifests/konnectivity-server-pod.yaml",
  ],
  konnectivity_manifests: [
    "cp konnectivity-namespace.yaml manifests/",
    `sed "s|\\\${BOOTSTRAP_NODE_IP}|\${BOOTSTRAP_NODE_IP}|g" konnectivity-agent-daemonset.yaml \\`,
    "  > manifests/konnectivity-agent-daemonset.yaml",
  ],
  konnectivity_cleanup: ["oc delete namespace openshift-bootstrap-konnectivity --wait=false"],
};

/** konnectivity.sh. */
export function upstreamFunctions(enabled: boolean): string {
  const functions = Object.entries(on).map(([name, body]) => {
    return [
      `# ${name}: see bootkube.sh`,
      `${name}() {`,
      ...(enabled ? body : []).map((line) => `    ${line}`),
      "    :",
      "}",
    ];
  });
  return `#!/usr/bin/env bash\n${functions.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

const server = [
  "--logtostderr=true",
  "--mode=grpc",
  "--uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket",
  "--server-port=0",
  "--agent-port=8091",
  "--health-port=2041",
  "--cluster-cert=/etc/konnectivity/server.crt",
  "--cluster-key=/etc/konnectivity/server.key",
  "--cluster-ca-cert=/etc/konnectivity/ca.crt",
  "--proxy-strategies=destHost,defaultRoute",
];

const agent = [
  "--ca-cert=/etc/konnectivity/ca.crt",
  "--agent-cert=/etc/konnectivity/tls.crt",
  "--agent-key=/etc/konnectivity/tls.key",
  `--proxy-server-host=\${BOOTSTRAP_NODE_IP}`,
  "--proxy-server-port=8091",
];

const namespace = "openshift-bootstrap-konnectivity";
const flow = (list: readonly string[]) => `[${list.map((item) => JSON.stringify(item)).join(", ")}]`;

/** The YAML files, shipped also when the feature is off. */
export const upstreamManifests: Readonly<Record<string, string>> = {
  "egress-selector-config.yaml": `kind: EgressSelectorConfiguration
apiVersion: apiserver.k8s.io/v1beta1
egressSelections:
- {name: cluster, connection: {proxyProtocol: GRPC, transport: {uds: {udsName: /etc/kubernetes/config/konnectivity-server.socket}}}}
- {name: controlplane, connection: {proxyProtocol: Direct}}
- {name: etcd, connection: {proxyProtocol: Direct}}
`,
  "konnectivity-config-override.yaml": `kind: KubeAPIServerConfig
apiVersion: kubecontrolplane.config.openshift.io/v1
apiServerArguments: {egress-selector-config-file: [/etc/kubernetes/config/egress-selector-config.yaml]}
`,
  "konnectivity-server-pod.yaml": `apiVersion: v1
kind: Pod
metadata: {name: konnectivity-server, namespace: kube-system}
spec:
  hostNetwork: true
  containers:
  - name: konnectivity-server
    image: \${KONNECTIVITY_IMAGE}
    command: [/usr/bin/proxy-server]
    args: ${flow(server)}
`,
  "konnectivity-namespace.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: ${namespace}, labels: {openshift.io/bootstrap-only: "true"}}
`,
  "konnectivity-agent-certs-secret.yaml": `apiVersion: v1
kind: Secret
metadata: {name: konnectivity-agent-certs, namespace: ${namespace}}
type: Opaque
data:
  tls.crt: \${KONNECTIVITY_AGENT_CERT_BASE64}
  tls.key: \${KONNECTIVITY_AGENT_KEY_BASE64}
  ca.crt: \${KONNECTIVITY_CA_CERT_BASE64}
`,
  "konnectivity-agent-daemonset.yaml": `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: konnectivity-agent, namespace: ${namespace}}
spec:
  selector: {matchLabels: {app: konnectivity-agent}}
  template:
    metadata: {labels: {app: konnectivity-agent}}
    spec:
      containers:
      - name: konnectivity-agent
        image: \${KONNECTIVITY_IMAGE}
        command: [/usr/bin/proxy-agent]
        args: ${flow(agent)}
`,
};

/** Names that HyperShift gave these things, so that parts can be put in each other's place. */

export const names = {
  server: "konnectivity-server",
  serverLocal: "konnectivity-server-local",
  agent: "konnectivity-agent",
  cluster: "konnectivity-cluster",
  client: "konnectivity-client",
  controlPlaneAgent: "konnectivity-control-plane-agent",
  caBundle: "konnectivity-ca-bundle",
  agentCaBundle: "konnectivity-agent-ca-bundle",
  clientCaBundle: "konnectivity-client-ca-bundle",
  claims: "konnectivity-agent-claims",
  egress: "kas-egress-selector-config",
  apiServer: "kube-apiserver",
  connectionChecker: "kas-connection-checker",
  connectivityCheck: "control-plane-connectivity-check",
} as const;

/** The namespace of the agents in the hosted cluster. */
export const AGENT_NAMESPACE = "kube-system";

/** The namespace of the hosted cluster's Services for APIs that the control plane serves. */
export const API_NAMESPACE = "default";

/** The ports of proxies beside components; the second where a pod has two. */
export const proxyPorts = { first: 8090, second: 8092 } as const;

/** The label of all our objects in both clusters: one selector finds what has to be deleted. */
export const HOSTED_LABEL = "drawbridge-hosted";

/** The label of EndpointSlices that names their maker; those that the cluster makes of Endpoints carry our label, too. */
export const SLICE_OWNER = "endpointslice.kubernetes.io/managed-by";

export const ownerSelector = (controlPlaneNamespace: string): string => `${HOSTED_LABEL}=${controlPlaneNamespace}`;

/** The field manager of our server-side applies in both clusters. */
export const FIELD_MANAGER = "drawbridge-hosted";

/** The annotation of somebody else's object that keeps the values which were taken over. */
export const TAKEN_OVER = "drawbridge-hosted-taken-over";

export const hypershift = {
  component: "hypershift.openshift.io/control-plane-component",
  controlPlane: "hypershift.openshift.io/control-plane",
  cluster: "hypershift.openshift.io/cluster",
  hostedControlPlane: "hypershift.openshift.io/hosted-control-plane",
  internalRoute: "hypershift.openshift.io/internal-route",
  /** An annotation of pod templates: another value rolls the pods out again. */
  configHash: "component.hypershift.openshift.io/config-hash",
} as const;

/** Mount paths inside containers. */
export const mounts = {
  cluster: "/etc/konnectivity/cluster",
  server: "/etc/konnectivity/server",
  ca: "/etc/konnectivity/ca",
  agentCa: "/etc/konnectivity/agent-ca",
  clientCa: "/etc/konnectivity/client-ca",
  claims: "/etc/konnectivity/claims",
  agent: "/etc/konnectivity/agent",
  egress: "/etc/kubernetes/egress-selector",
  apiServerCa: "/etc/kubernetes/certs/konnectivity-ca",
  apiServerClient: "/etc/kubernetes/certs/konnectivity-client",
  proxyClient: "/etc/konnectivity/proxy-client",
  proxyCa: "/etc/konnectivity/proxy-ca",
  kubeconfig: "/etc/kubernetes/secrets/kubeconfig",
  customerProxy: "/etc/konnectivity/customer-proxy",
  trustedCerts: "/etc/pki/tls/certs",
  socket: "/etc/kubernetes/konnectivity-server",
} as const;

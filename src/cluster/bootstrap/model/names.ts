/** Names that both ends of the bridge, its teardown and its diagnosis agree on. */

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

export const SERVER_UNIT = "drawbridge-bootstrap-server.service";

/** What OpenShift (from 4.11 on) lets host-network agents in by. */
export const HOST_NETWORK_SCC = "system:openshift:scc:hostnetwork-v2";

export const ports = {
  /** Agents dial this one; the only port that firewalls must open. */
  agent: 8091,
  health: 2041,
  /**
   * A host-network agent may stand on the very host of the server (a single node, a kubeadm control plane), where 2041 is
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

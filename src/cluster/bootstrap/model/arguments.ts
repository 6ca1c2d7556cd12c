/** The flags of server and agent; the same for the payload's, upstream's and our programs, but for two of ours. */
import type { BridgeModel } from "./model.js";
import { secretKeys } from "./names.js";
import { pkiFile } from "./paths.js";

/** Where the agents' Secret is mounted. */
export const AGENT_PKI_DIRECTORY = "/etc/konnectivity";

// Peers may ping at most this often before a server hangs up.
const KEEPALIVE = "--keepalive-time=30s";

/** The bridge ends with its certificates. Upstream's programs do not know the flag: there streams stay till teardown. */
const timeBoxed = ({ images }: BridgeModel): string[] => (images.kind === "drawbridge" ? ["--time-boxed"] : []);

/** An agent without tunnels ends at once, others within the pod's grace; without the flag they wait to be killed. */
const drain = ({ images }: BridgeModel): string[] => (images.kind === "drawbridge" ? ["--drain-timeout=8s"] : []);

export function serverArguments(model: BridgeModel): string[] {
  const { paths, ports, protocol, serverAddresses } = model;
  const { server: pki } = paths.pki;
  return [
    "--logtostderr=true",
    `--mode=${protocol.serverMode}`,
    `--uds-name=${paths.socket.server}`,
    // Upstream refuses a socket while its TCP door is open too.
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

/** What the kube-apiserver is started with, and nothing else. */
export function apiServerFlag({ paths }: BridgeModel): { readonly name: string; readonly value: string } {
  return { name: "egress-selector-config-file", value: paths.egressConfig.apiServer };
}

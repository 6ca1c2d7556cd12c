/** Every flag of proxy-agent: upstream's with upstream's defaults, then ours. */
import { randomUUID } from "node:crypto";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer, string, stringSlice } from "../flags/flag-value.js";
import { parseGoDuration } from "../flags/go-duration.js";
import { labelSelector } from "../flags/label-selector.js";
import type { Environment } from "../framework/invocation.js";
import { addCommonFlags, OURS } from "./common-flags.js";
import { serverHosts } from "./server-addresses.js";

export type AgentFlags = ReturnType<typeof declareAgentFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareAgentFlags(env: Environment, program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const number = (name: string, value: number, usage: string) => set.add(name, integer, value, usage);
  const time = (name: string, value: string, usage: string) => set.add(name, duration, parseGoDuration(value), usage);
  const yesNo = (name: string, value: boolean, usage: string) => set.add(name, boolean, value, usage);
  const flags = {
    agentCert: text("agent-cert", "Certificate this agent shows to proxy-servers."),
    agentKey: text("agent-key", "Key of --agent-cert."),
    caCert: text("ca-cert", "CA bundle that proxy-servers are verified against."),
    proxyServerHost: set.add(
      "proxy-server-host",
      serverHosts,
      ["127.0.0.1"],
      "Where the proxy-server is. drawbridge: repeatable or comma-separated, each may carry its own :port.",
    ),
    proxyServerPort: number("proxy-server-port", 8091, "Port of every --proxy-server-host that carries none."),
    alpnProto: set.add(
      "alpn-proto",
      stringSlice,
      [],
      "ALPN names offered before h2, for routers that tell traffic apart.",
    ),
    healthServerHost: text("health-server-host", "Address of the health port. If empty, all interfaces."),
    healthServerPort: number("health-server-port", 8093, "Port of the health checks and metrics."),
    adminServerPort: number("admin-server-port", 8094, "Port of metrics, profiling and the admin API."),
    adminBindAddress: text("admin-bind-address", "Address of the admin port. If empty, all interfaces.", "127.0.0.1"),
    enableProfiling: yesNo("enable-profiling", false, "Serve /debug/pprof on the admin port."),
    enableContentionProfiling: yesNo(
      "enable-contention-profiling",
      false,
      "Accepted together with --enable-profiling.",
    ),
    agentId: text(
      "agent-id",
      "How servers name this agent. The environment variable PROXY_AGENT_ID sets the default.",
      env.PROXY_AGENT_ID || randomUUID(),
    ),
    agentIdentifiers: text(
      "agent-identifiers",
      "What this agent can reach, as a URL query of ipv4, ipv6, host, cidr and default-route.",
    ),
    syncInterval: time("sync-interval", "1s", "Pause between two searches for more proxy-servers, at first."),
    syncIntervalCap: time("sync-interval-cap", "10s", "What that pause grows to while no server answers."),
    probeInterval: time("probe-interval", "1s", "Pause between two looks at the state of the connections."),
    keepaliveTime: time("keepalive-time", "1h", "Idle time after which a server connection is pinged."),
    serviceAccountTokenPath: text(
      "service-account-token-path",
      "File with the token this agent shows to proxy-servers.",
    ),
    warnOnChannelLimit: yesNo("warn-on-channel-limit", false, "Log when a connection's queue is full."),
    syncForever: yesNo("sync-forever", false, "Go on searching after every known server is connected."),
    xfrChannelSize: number("xfr-channel-size", 150, "Packets a connection may have waiting; our bounds are in bytes."),
    countServerLeases: yesNo("count-server-leases", false, "Learn the number of servers from their leases."),
    leaseNamespace: text("lease-namespace", "Namespace of the leases.", "kube-system"),
    leaseLabelSelector: set.add(
      "lease-label-selector",
      labelSelector,
      "k8s-app=konnectivity-server",
      "Which leases count, as a label selector. If empty, all.",
    ),
    serverCountSource: text(
      "server-count-source",
      "default trusts the leases when they are counted, else the servers; max takes the larger number.",
      "default",
    ),
    kubeconfig: text("kubeconfig", "How to reach the Kubernetes API. If empty, the in-cluster configuration."),
    kubeApiContentType: text(
      "kube-api-content-type",
      "Accepted for compatibility, no effect: the Kubernetes API is spoken in JSON.",
      "application/vnd.kubernetes.protobuf",
    ),
    allow: set.add(
      "allow",
      stringSlice,
      [],
      `${OURS}Destinations this agent may dial, as NAME, ADDRESS or PREFIX with an optional :PORT; repeatable. If empty, all but the denied.`,
    ),
    deny: set.add("deny", stringSlice, [], `${OURS}Destinations this agent must not dial, as for --allow; repeatable.`),
    serverHeaderTimeout: time("server-header-timeout", "15s", `${OURS}How long a proxy-server may take to greet.`),
    drainTimeout: time(
      "drain-timeout",
      "0s",
      `${OURS}After the first signal, exit once idle and at the latest then; 0 waits for a second signal.`,
    ),
    timeBoxed: yesNo(
      "time-boxed",
      false,
      `${OURS}End streams with this agent's certificate, then rest until there is a new one.`,
    ),
    ...addCommonFlags(set, program),
  };
  // The name up to upstream's v0.36.
  set.alias("lease-label", flags.leaseLabelSelector);
  return { set, flags };
}

/** Every flag of proxy-server: upstream's with upstream's defaults, then ours. */
import { randomUUID } from "node:crypto";
import { DEFAULT_MAX_PENDING } from "../../base/connection.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, float32, integer, string, stringArray, stringSlice } from "../flags/flag-value.js";
import { parseGoDuration } from "../flags/go-duration.js";
import type { Environment } from "../framework/invocation.js";
import { addCommonFlags, OURS } from "./common-flags.js";

export type ServerFlags = ReturnType<typeof declareServerFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareServerFlags(env: Environment, program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const number = (name: string, value: number, usage: string) => set.add(name, integer, value, usage);
  const time = (name: string, value: string, usage: string) => set.add(name, duration, parseGoDuration(value), usage);
  const yesNo = (name: string, value: boolean, usage: string) => set.add(name, boolean, value, usage);
  const flags = {
    serverCert: text("server-cert", "Certificate of the TCP frontend."),
    serverKey: text("server-key", "Key of --server-cert."),
    serverCaCert: text("server-ca-cert", "CA bundle that callers of the TCP frontend are verified against."),
    clusterCert: text("cluster-cert", "Certificate of the agent listener."),
    clusterKey: text("cluster-key", "Key of --cluster-cert."),
    clusterCaCert: text("cluster-ca-cert", "CA bundle that agents are verified against."),
    mode: text("mode", "What the frontend speaks: grpc or http-connect.", "grpc"),
    udsName: text("uds-name", "Unix socket of the frontend; needs --server-port=0. If empty, the frontend is on TCP."),
    deleteExistingUdsFile: yesNo("delete-existing-uds-file", true, "Remove a file that is in the socket's place."),
    serverPort: number("server-port", 8090, "Port of the TCP frontend; 0 with --uds-name."),
    serverBindAddress: text("server-bind-address", "Address of the TCP frontend. If empty, all interfaces."),
    agentPort: number("agent-port", 8091, "Port of the agent listener."),
    agentBindAddress: text("agent-bind-address", "Address of the agent listener. If empty, all interfaces."),
    adminPort: number("admin-port", 8095, "Port of metrics, profiling and the admin API."),
    adminBindAddress: text("admin-bind-address", "Address of the admin port. If empty, all interfaces.", "127.0.0.1"),
    healthPort: number("health-port", 8092, "Port of the health checks."),
    healthBindAddress: text("health-bind-address", "Address of the health port. If empty, all interfaces."),
    keepaliveTime: time("keepalive-time", "1h", "Idle time after which an agent connection is pinged."),
    frontendKeepaliveTime: time("frontend-keepalive-time", "1h", "Idle time after which a gRPC caller is pinged."),
    enableProfiling: yesNo("enable-profiling", false, "Serve /debug/pprof on the admin port."),
    enableContentionProfiling: yesNo(
      "enable-contention-profiling",
      false,
      "Accepted together with --enable-profiling.",
    ),
    serverId: text(
      "server-id",
      "How agents tell servers apart. The environment variable PROXY_SERVER_ID sets the default.",
      env.PROXY_SERVER_ID || randomUUID(),
    ),
    serverCount: number("server-count", 1, "How many servers agents should look for."),
    agentNamespace: text("agent-namespace", "Namespace of the agents' service account, for token authentication."),
    agentServiceAccount: text("agent-service-account", "Service account of the agents, for token authentication."),
    authenticationAudience: text("authentication-audience", "Audience of the agents' tokens."),
    kubeconfig: text("kubeconfig", "How to reach the Kubernetes API. If empty, the in-cluster configuration."),
    kubeconfigQps: set.add(
      "kubeconfig-qps",
      float32,
      0,
      "Requests a second to the Kubernetes API; 0 is the client's own.",
    ),
    kubeconfigBurst: number("kubeconfig-burst", 0, "Burst of requests to the Kubernetes API; 0 is the client's own."),
    kubeApiContentType: text(
      "kube-api-content-type",
      "Accepted for compatibility, no effect: the Kubernetes API is spoken in JSON.",
      "application/vnd.kubernetes.protobuf",
    ),
    proxyStrategies: text(
      "proxy-strategies",
      "How an agent is chosen, tried in order: default, destHost, defaultRoute, and (drawbridge) destCIDR.",
      "default",
    ),
    cipherSuites: set.add(
      "cipher-suites",
      stringSlice,
      [],
      "Go names of the allowed suites up to TLS 1.2. If empty, all.",
    ),
    tlsMinVersion: text("tls-min-version", "VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. If empty, 1.2."),
    xfrChannelSize: number(
      "xfr-channel-size",
      10,
      "Packets that may wait for one frontend stream before it is paused.",
    ),
    enableLeaseController: yesNo("enable-lease-controller", false, "Announce this server by a lease."),
    leaseNamespace: text("lease-namespace", "Namespace of the leases.", "kube-system"),
    leaseLabel: text("lease-label", "Labels of the leases, key=value[,key=value].", "k8s-app=konnectivity-server"),
    gracefulShutdownTimeout: time(
      "graceful-shutdown-timeout",
      "0s",
      "How long tunnels may finish at shutdown; 0 is not at all.",
    ),
    backendDialTimeout: time("backend-dial-timeout", "15s", "How long an agent may take to dial; 0 is forever."),
    warnOnChannelLimit: set.add("warn-on-channel-limit", boolean, true, "No effect.", {
      deprecated: "it has no effect: a full channel is always reported.",
    }),
    listen: set.add(
      "listen",
      stringArray,
      [],
      `${OURS}One more front door, MODE+TRANSPORT:ADDRESS[,key=value...]; repeatable. Keys: mode, owner (uds); cert, key, ca (tcp).`,
    ),
    udsMode: text("uds-mode", `${OURS}Octal permissions of the frontend's unix socket.`, "0770"),
    udsOwner: text("uds-owner", `${OURS}Numeric uid:gid of the frontend's unix socket. If empty, that of the process.`),
    allowUnauthenticatedAgents: yesNo(
      "allow-unauthenticated-agents",
      false,
      `${OURS}Let anyone who reaches the agent port become an agent.`,
    ),
    agentClaimsFile: text(
      "agent-claims-file",
      `${OURS}Which agents may claim which identifiers. If empty, anyone anything.`,
    ),
    timeBoxed: yesNo("time-boxed", false, `${OURS}End an agent's stream when the certificate it came with ends.`),
    handshakeTimeout: time(
      "handshake-timeout",
      "10s",
      `${OURS}How long the TLS handshake of an agent or a caller may take before its connection is closed.`,
    ),
    maxPendingConnections: number(
      "max-pending-connections",
      DEFAULT_MAX_PENDING,
      `${OURS}Connections a listener may have whose peers are not known yet, and half of what all may have; then the oldest is closed.`,
    ),
    watchdogInterval: time(
      "watchdog-interval",
      "30s",
      `${OURS}How often each drawbridge agent is asked to send a few bytes back through its link; 0 is never.`,
    ),
    watchdogTimeout: time("watchdog-timeout", "10s", `${OURS}How long those bytes may take.`),
    watchdogFailures: number(
      "watchdog-failures",
      3,
      `${OURS}So many failures in a row, with nothing else moving, and the link is ended so that its agent connects anew.`,
    ),
    readiness: text(
      "readiness",
      `${OURS}What /readyz means: agents, one is connected; or path, the watchdog got bytes back from one.`,
      "agents",
    ),
    ...addCommonFlags(set, program),
  };
  return { set, flags };
}

/** proxy-server, which is `drawbridge server`: upstream's flags with upstream's defaults, then ours. */

import { randomUUID } from "node:crypto";
import { DEFAULT_MAX_PENDING } from "../../base/connections.js";
import { type ListenerConfig, READINESS_RULES } from "../../tunnel/server/config.js";
import {
  duration,
  filePath,
  float,
  inGroup,
  list,
  number,
  oneOf,
  repeated,
  text,
  type Values,
  yesNo,
} from "../flags/flag.js";
import { defineCommand, type Environment, warnOfWords } from "../framework/define.js";
import { type ListenerDefaults, parseFileMode, parseListen, parseOwner } from "./addresses.js";
import { checkRules, commonConfigOf, commonFlags, fileRule, loggingOf, ours, validated } from "./process-flags.js";
import { runServer, type ServerProcessConfig } from "./run-server.js";
import {
  checkOurRules,
  checkUpstreamRules,
  openSslSuites,
  parseLabels,
  parseStrategies,
  shorthandListener,
  tlsVersion,
  usesTokenAuthentication,
} from "./server-rules.js";

const MAX_PENDING_HELP =
  "Connections a listener may have whose peers are not known yet, and half of what all may have; then the oldest is closed.";
const WATCHDOG_HELP =
  "How often the watchdog asks each drawbridge agent to send a few bytes back through its link; 0 is never.";
const FAILURES_HELP =
  "Failures of the watchdog in a row, with nothing else moving, after which a link is ended so that its agent connects again.";

const serverFlags = (env: Environment) => ({
  ...commonFlags,
  mode: { ...text("What the frontend speaks: grpc or http-connect.", "grpc"), offers: ["grpc", "http-connect"] },
  "uds-name": filePath("Unix socket of the frontend; needs --server-port=0. If empty, the frontend is on TCP."),
  "delete-existing-uds-file": yesNo("Remove a file that is in the place of the frontend's Unix socket.", true),
  "server-port": number(8090, "Port of the TCP frontend; 0 with --uds-name."),
  "server-bind-address": text("Address of the TCP frontend. If empty, all interfaces."),
  "agent-port": number(8091, "Port of the agent listener."),
  "agent-bind-address": text("Address of the agent listener. If empty, all interfaces."),
  "admin-port": number(8095, "Port of metrics, profiling and the admin API."),
  "admin-bind-address": text("Address of the admin port. If empty, all interfaces.", "127.0.0.1"),
  "health-port": number(8092, "Port of the health checks."),
  "health-bind-address": text("Address of the health port. If empty, all interfaces."),
  "server-id": text(
    "Identifier by which agents tell servers apart. The environment variable PROXY_SERVER_ID sets the default.",
    env.PROXY_SERVER_ID || randomUUID(),
  ),
  "server-count": number(1, "How many servers agents should look for."),
  "proxy-strategies": {
    ...text(
      "How an agent is chosen, tried in order: default, destHost, defaultRoute, and (drawbridge) destCIDR.",
      "default",
    ),
    offers: ["default", "destHost", "defaultRoute", "destCIDR"],
  },
  "graceful-shutdown-timeout": duration("0s", "How long tunnels may finish at shutdown; 0 is not at all."),
  "backend-dial-timeout": duration("15s", "How long an agent may take to dial; 0 is forever."),
  "enable-profiling": yesNo("Serve /debug/pprof on the admin port."),
  ...inGroup("tls", {
    "server-cert": filePath("Certificate of the TCP frontend."),
    "server-key": filePath("Key of --server-cert."),
    "server-ca-cert": filePath("CA bundle that callers of the TCP frontend are verified against."),
    "cluster-cert": filePath("Certificate of the agent listener."),
    "cluster-key": filePath("Key of --cluster-cert."),
    "cluster-ca-cert": filePath("CA bundle that agents are verified against."),
    "cipher-suites": list("Go names of the allowed suites up to TLS 1.2. If empty, all."),
    "tls-min-version": {
      ...text("VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. If empty, 1.2."),
      offers: ["VersionTLS12", "VersionTLS13"],
    },
  }),
  ...inGroup("kubernetes", {
    "agent-namespace": text("Namespace of the agents' service account, for token authentication."),
    "agent-service-account": text("Service account of the agents, for token authentication."),
    "authentication-audience": text("Audience of the agents' tokens."),
    kubeconfig: filePath("How to reach the Kubernetes API. If empty, the in-cluster configuration."),
    "kubeconfig-qps": float(0, "Requests a second to the Kubernetes API; 0 is the client's own."),
    "kubeconfig-burst": number(0, "Burst of requests to the Kubernetes API; 0 is the client's own."),
    "enable-lease-controller": yesNo("Announce this server by a lease."),
    "lease-namespace": text("Namespace of the leases.", "kube-system"),
    "lease-label": text("Labels of the leases, key=value[,key=value].", "k8s-app=konnectivity-server"),
  }),
  ...inGroup("advanced", {
    "keepalive-time": duration("1h", "Idle time after which an agent connection is pinged."),
    "frontend-keepalive-time": duration("1h", "Idle time after which a gRPC caller is pinged."),
    "xfr-channel-size": number(10, "Packets that may wait for one frontend stream before it is paused."),
  }),
  ...inGroup("compatibility", {
    "frontend-write-channel-size": number(
      10,
      "Accepted for compatibility, no effect: what waits for a caller is bounded in bytes, and one caller never holds up others.",
      { least: 0 },
    ),
    "enable-contention-profiling": yesNo("Accepted together with --enable-profiling."),
    "kube-api-content-type": text(
      "Accepted for compatibility, no effect: the Kubernetes API is spoken in JSON.",
      "application/vnd.kubernetes.protobuf",
    ),
  }),
  "warn-on-channel-limit": {
    ...yesNo("No effect.", true),
    deprecated: "it has no effect: a full channel is always reported.",
  },
  ...ours({
    listen: repeated(
      "One more listener for callers, MODE+TRANSPORT:ADDRESS[,key=value...]; repeatable. Keys: mode, owner (uds); cert, key, ca (tcp).",
    ),
    "uds-mode": text("Octal permissions of the frontend's Unix socket.", "0770"),
    "uds-owner": text("Numeric uid:gid of the frontend's Unix socket. If empty, that of the process."),
    "allow-unauthenticated-agents": yesNo("Let anyone who reaches the agent port become an agent."),
    "agent-claims-file": filePath(
      "File that says which agents may claim which identifiers. If empty, any agent may claim any.",
    ),
    "time-boxed": yesNo("End an agent's stream when the certificate it came with ends."),
    "wait-for-agent": duration(
      "0s",
      "How long a dial waits for an agent when none takes it; 0 is not at all. After 30s in which none came, dials are refused at once until one does.",
      { least: 0 },
    ),
    readiness: oneOf(
      READINESS_RULES,
      "What /readyz means: agents, the first of --proxy-strategies has an agent; any, one of them has; all, each has; path, as agents, and the watchdog got bytes back from one.",
      "agents",
    ),
    ...inGroup("advanced", {
      "handshake-timeout": duration("10s", "How long the TLS handshake of an agent or a caller may take.", {
        least: 1,
      }),
      "max-pending-connections": number(DEFAULT_MAX_PENDING, MAX_PENDING_HELP, { least: 1 }),
      "watchdog-interval": duration("30s", WATCHDOG_HELP, { least: 0 }),
      "watchdog-timeout": duration("10s", "How long the watchdog waits for its bytes through a link.", { least: 1 }),
      "watchdog-failures": number(3, FAILURES_HELP, { least: 1 }),
    }),
  }),
});

export type ServerFlags = Values<ReturnType<typeof serverFlags>>;

export default defineCommand({
  purpose: `Lets a Kubernetes API server reach networks it has no route to, through agents that dial in.

Callers come to a frontend on a Unix socket or on TCP, agents to port 8091; drawbridge pki init makes the certificates.`,
  examples: [
    "proxy-server --mode=http-connect --server-port=0 --uds-name=/run/konnectivity.sock --cluster-cert=server.crt --cluster-key=server.key --cluster-ca-cert=ca.crt",
  ],
  words: "",
  flags: serverFlags,
  config(flags, input) {
    warnOfWords(input.words, input);
    return validated("failed to validate server options with", () => {
      checkUpstreamRules(flags, input);
      const config = configOf(flags, input.given);
      checkOurRules(flags, input);
      return { config, logging: loggingOf(flags) };
    });
  },
  run: ({ config, logging }) => runServer(config, logging),
});

/** gRPC pings at most every second; 0 is its own two hours. */
const keepaliveOf = (ms: number): number => (ms === 0 ? 7_200_000 : Math.max(ms, 1000));

function configOf(flags: ServerFlags, given: ReadonlySet<string>): ServerProcessConfig {
  const labels = parseLabels(flags.leaseLabel);
  return {
    serverId: flags.serverId,
    serverCount: flags.serverCount,
    listeners: listenersOf(flags, given),
    agents: {
      host: flags.agentBindAddress,
      port: flags.agentPort,
      tls: { certFile: flags.clusterCert, keyFile: flags.clusterKey, clientCaFile: flags.clusterCaCert },
      ...(usesTokenAuthentication(flags) && {
        tokenAuth: {
          namespace: flags.agentNamespace,
          serviceAccount: flags.agentServiceAccount,
          audience: flags.authenticationAudience,
        },
      }),
      allowUnauthenticated: flags.allowUnauthenticatedAgents,
      timeBoxed: flags.timeBoxed,
      claimsFile: flags.agentClaimsFile,
    },
    tlsPolicy: {
      minVersion: tlsVersion(flags.tlsMinVersion),
      cipherSuites: openSslSuites(flags.cipherSuites),
    },
    pending: {
      handshakeTimeoutMs: flags.handshakeTimeout,
      maxPending: flags.maxPendingConnections,
    },
    health: { host: flags.healthBindAddress, port: flags.healthPort },
    strategies: parseStrategies(flags.proxyStrategies),
    keepaliveMs: keepaliveOf(flags.keepaliveTime),
    frontendKeepaliveMs: keepaliveOf(flags.frontendKeepaliveTime),
    dialTimeoutMs: flags.backendDialTimeout,
    waitForAgentMs: flags.waitForAgent,
    gracefulShutdownMs: flags.gracefulShutdownTimeout,
    xfrChannelSize: flags.xfrChannelSize,
    kube: { kubeconfig: flags.kubeconfig, qps: flags.kubeconfigQps, burst: flags.kubeconfigBurst },
    ...(flags.enableLeaseController && { leases: { namespace: flags.leaseNamespace, labels } }),
    ...(flags.watchdogInterval > 0 && {
      watchdog: {
        intervalMs: flags.watchdogInterval,
        timeoutMs: flags.watchdogTimeout,
        failures: flags.watchdogFailures,
      },
    }),
    readiness: flags.readiness,
    ...commonConfigOf(flags, flags.adminPort),
  };
}

function listenersOf(flags: ServerFlags, given: ReadonlySet<string>): ListenerConfig[] {
  const defaults: ListenerDefaults = {
    deleteExisting: flags.deleteExistingUdsFile,
    fileMode: parseFileMode(flags.udsMode),
    owner: flags.udsOwner === "" ? undefined : parseOwner(flags.udsOwner),
    tls: { certFile: flags.serverCert, keyFile: flags.serverKey, clientCaFile: flags.serverCaCert },
  };
  const listeners = flags.listen.map((text) => parseListen(text, defaults));
  const files = listeners.flatMap((listener) => (listener.transport === "tcp" ? Object.values(listener.tls) : []));
  checkRules(files.map((file) => fileRule("--listen TLS file", file)));
  const all = [...shorthandConfig(flags, given, defaults), ...listeners];
  const addresses = all.map((listener) =>
    listener.transport === "uds" ? listener.path : `${listener.host}:${listener.port}`,
  );
  const twice = addresses.find((address, at) => addresses.indexOf(address) !== at);
  if (twice !== undefined) throw new Error(`two listeners share the address ${twice}; give each its own`);
  return all;
}

/** The listener of upstream's own flags, if they describe one. */
function shorthandConfig(
  flags: ServerFlags,
  given: ReadonlySet<string>,
  { deleteExisting, fileMode, owner, tls }: ListenerDefaults,
): ListenerConfig[] {
  const mode = flags.mode === "grpc" ? "grpc" : "http-connect";
  const transport = shorthandListener(flags, given);
  if (transport === undefined) return [];
  if (transport === "tcp") return [{ mode, transport, host: flags.serverBindAddress, port: flags.serverPort, tls }];
  return [{ mode, transport, path: flags.udsName, deleteExisting, fileMode, ...(owner && { owner }) }];
}

/** What must hold between proxy-server's flags: upstream's rules in upstream's order and words, then ours. */
import type { StrategyName } from "../../tunnel/server/config.js";
import { formatGoDuration } from "../flags/go-duration.js";
import { quote } from "../flags/go-text.js";
import { checkCommonFlags } from "./common-flags.js";
import { missingFile, requireFile, requirePair } from "./existing-file.js";
import type { ServerFlags } from "./server-flags.js";
import { openSslSuites, tlsVersion } from "./tls-names.js";

/** The door that upstream's own flags describe; with --listen it exists only when they name it. */
export function shorthandDoor(flags: ServerFlags): "uds" | "tcp" | undefined {
  if (flags.udsName.value !== "") return "uds";
  if (!flags.listen.changed) return "tcp";
  return flags.serverPort.changed && flags.serverPort.value !== 0 ? "tcp" : undefined;
}

/** Throws an Error with one sentence; returns warnings. */
export function checkServerFlags(flags: ServerFlags): string[] {
  requirePair("server", flags.serverCert.value, flags.serverKey.value);
  requireFile("server CA cert", flags.serverCaCert.value);
  requirePair("cluster", flags.clusterCert.value, flags.clusterKey.value);
  requireFile("cluster CA cert", flags.clusterCaCert.value);
  checkFrontend(flags);
  checkPorts(flags);
  if (flags.enableContentionProfiling.value && !flags.enableProfiling.value) {
    throw new Error("if --enable-contention-profiling is set, --enable-profiling must also be set");
  }
  checkTokenAuthentication(flags);
  const noKubeconfig = missingFile(flags.kubeconfig.value);
  if (noKubeconfig) throw new Error(`checking KubeconfigPath ${quote(flags.kubeconfig.value)}, got ${noKubeconfig}`);
  parseStrategies(flags.proxyStrategies.value);
  if (flags.xfrChannelSize.value <= 0) {
    throw new Error(`channel size ${flags.xfrChannelSize.value} must be greater than 0`);
  }
  const warnings = checkTls(flags);
  parseLabels(flags.leaseLabel.value);
  for (const { name, value } of [flags.gracefulShutdownTimeout, flags.backendDialTimeout]) {
    if (value < 0n) throw new Error(`${name} must be >= 0, got ${formatGoDuration(value)}`);
  }
  checkOurFlags(flags);
  return warnings;
}

function checkFrontend(flags: ServerFlags): void {
  const { mode, serverPort, serverKey, serverCert, serverCaCert } = flags;
  if (mode.value !== "grpc" && mode.value !== "http-connect") {
    throw new Error(`mode must be set to either 'grpc' or 'http-connect' not ${quote(mode.value)}`);
  }
  const door = shorthandDoor(flags);
  if (door === "tcp" && serverCaCert.value === "") {
    throw new Error("server ca cert must be set when in TCP mode (uds-name is empty)");
  }
  if (door !== "uds") return;
  // With --listen, a port nobody gave is no second door, and the TLS files belong to the TCP doors among them.
  const listening = flags.listen.changed;
  if (serverPort.value !== 0 && (serverPort.changed || !listening)) {
    throw new Error(`server port should be set to 0 not ${serverPort.value} for UDS`);
  }
  if (listening) return;
  if (serverKey.value !== "") throw new Error("server key should not be set for UDS");
  if (serverCert.value !== "") throw new Error("server cert should not be set for UDS");
  if (serverCaCert.value !== "") throw new Error("server ca cert should not be set for UDS");
}

function checkPorts(flags: ServerFlags): void {
  const ports = [
    ...(shorthandDoor(flags) === "tcp" ? [["server", flags.serverPort.value] as const] : []),
    ["agent", flags.agentPort.value],
    ["admin", flags.adminPort.value],
    ["health", flags.healthPort.value],
  ] as const;
  for (const [what, port] of ports) {
    if (port > 49151) throw new Error(`please do not try to use ephemeral port ${port} for the ${what} port`);
  }
  for (const [what, port] of ports) {
    if (port < 1024) throw new Error(`please do not try to use reserved port ${port} for the ${what} port`);
  }
}

export function usesTokenAuthentication(flags: ServerFlags): boolean {
  return [flags.agentNamespace, flags.agentServiceAccount, flags.authenticationAudience].some(
    ({ value }) => value !== "",
  );
}

function checkTokenAuthentication(flags: ServerFlags): void {
  if (!usesTokenAuthentication(flags)) return;
  if (flags.clusterCaCert.value !== "") {
    throw new Error("--cluster-ca-cert can not be used when agent authentication is enabled");
  }
  for (const { name, value } of [flags.agentNamespace, flags.agentServiceAccount, flags.authenticationAudience]) {
    if (value === "") throw new Error(`--${name} cannot be empty when agent authentication is enabled`);
  }
}

function checkTls(flags: ServerFlags): string[] {
  const version = tlsVersion(flags.tlsMinVersion.value);
  openSslSuites(flags.cipherSuites.value);
  if (version === "TLSv1.2" || version === "TLSv1.3") return [];
  const name = flags.tlsMinVersion.value;
  return [`--tls-min-version=${name} is below TLS 1.2 and is considered insecure (RFC 8996)`];
}

function checkOurFlags(flags: ServerFlags): void {
  if (flags.clusterCert.value === "") {
    throw new Error("agents are only served over TLS: --cluster-cert and --cluster-key must be set");
  }
  if (shorthandDoor(flags) === "tcp" && flags.serverCert.value === "") {
    throw new Error("callers on TCP are only served over TLS: --server-cert and --server-key must be set");
  }
  if (flags.clusterCaCert.value === "" && !usesTokenAuthentication(flags) && !flags.allowUnauthenticatedAgents.value) {
    throw new Error(
      "anyone could become an agent: set --cluster-ca-cert, or token authentication " +
        "(--agent-namespace, --agent-service-account, --authentication-audience), or --allow-unauthenticated-agents",
    );
  }
  requireFile("agent claims file", flags.agentClaimsFile.value);
  if (flags.handshakeTimeout.value <= 0n) throw new Error("--handshake-timeout must be greater than 0");
  if (flags.maxPendingConnections.value <= 0) throw new Error("--max-pending-connections must be greater than 0");
  checkWatchdog(flags);
  checkCommonFlags(flags);
}

function checkWatchdog({ watchdogInterval, watchdogTimeout, watchdogFailures, readiness }: ServerFlags): void {
  if (watchdogInterval.value < 0n) throw new Error("--watchdog-interval must not be negative");
  if (watchdogTimeout.value <= 0n) throw new Error("--watchdog-timeout must be greater than 0");
  if (watchdogFailures.value <= 0) throw new Error("--watchdog-failures must be greater than 0");
  if (readiness.value !== "agents" && readiness.value !== "path") {
    throw new Error(`--readiness must be agents or path, got ${readiness.value}`);
  }
  if (readiness.value === "path" && watchdogInterval.value === 0n) {
    throw new Error("--readiness=path needs the watchdog: set --watchdog-interval");
  }
}

const strategies: readonly string[] = ["default", "destHost", "defaultRoute", "destCIDR"] satisfies StrategyName[];

export function parseStrategies(text: string): StrategyName[] {
  if (text === "") throw new Error("ProxyStrategies cannot be empty");
  const names = text.split(",").filter((name) => name !== "");
  const unknown = names.find((name) => !strategies.includes(name));
  if (unknown !== undefined) throw new Error(`invalid proxy strategies: unknown proxy strategy: ${unknown}`);
  if (names.length === 0) throw new Error("invalid proxy strategies: proxy strategies cannot be empty");
  return names as StrategyName[];
}

/** `key=value[,key=value]`, as upstream reads it: a plain list, not a selector. */
export function parseLabels(text: string): Record<string, string> {
  if (text === "") throw new Error("empty string provided");
  const labels: [string, string][] = [];
  for (const pair of text.split(",")) {
    const [, key, value] = /^([^=]*)=([^=]*)$/s.exec(pair) ?? [];
    if (key === undefined || value === undefined) throw new Error(`invalid label format: ${pair}`);
    labels.push([key.trim(), value.trim()]);
  }
  return Object.fromEntries(labels);
}

/** The rules of proxy-server's flags: upstream's in upstream's order and words, then drawbridge's. */
import type { StrategyName, TlsPolicy } from "../../tunnel/server/config.js";
import { formatDuration } from "../flags/flag.js";
import { quote } from "../flags/go-values.js";
import type { Input } from "../framework/define.js";
import { checkCommonFlags, missingFile, requireFile, requirePair } from "./process-flags.js";
import type { ServerFlags } from "./server.js";

/** The listener that upstream's own flags describe; with --listen it exists only when they name it. */
export function shorthandListener(flags: ServerFlags, given: ReadonlySet<string>): "uds" | "tcp" | undefined {
  if (flags.udsName !== "") return "uds";
  if (!given.has("listen")) return "tcp";
  return given.has("server-port") && flags.serverPort !== 0 ? "tcp" : undefined;
}

/** Throws an Error with one sentence. */
export function checkServerFlags(flags: ServerFlags, input: Input): void {
  requirePair("server", flags.serverCert, flags.serverKey);
  requireFile("server CA cert", flags.serverCaCert);
  requirePair("cluster", flags.clusterCert, flags.clusterKey);
  requireFile("cluster CA cert", flags.clusterCaCert);
  checkFrontend(flags, input.given);
  checkPorts(flags, input.given);
  if (flags.enableContentionProfiling && !flags.enableProfiling) {
    throw new Error("if --enable-contention-profiling is set, --enable-profiling must also be set");
  }
  checkTokenAuthentication(flags);
  const noKubeconfig = missingFile(flags.kubeconfig);
  if (noKubeconfig) throw new Error(`checking KubeconfigPath ${quote(flags.kubeconfig)}, got ${noKubeconfig}`);
  parseStrategies(flags.proxyStrategies);
  if (flags.xfrChannelSize <= 0) {
    throw new Error(`channel size ${flags.xfrChannelSize} must be greater than 0`);
  }
  checkTls(flags, input);
  parseLabels(flags.leaseLabel);
  requireNotNegative("graceful-shutdown-timeout", flags.gracefulShutdownTimeout);
  requireNotNegative("backend-dial-timeout", flags.backendDialTimeout);
  checkOurFlags(flags, input.given);
}

function requireNotNegative(name: string, ms: number): void {
  if (ms < 0) throw new Error(`${name} must be >= 0, got ${formatDuration(ms)}`);
}

function checkFrontend(flags: ServerFlags, given: ReadonlySet<string>): void {
  const { mode, serverPort, serverKey, serverCert, serverCaCert } = flags;
  if (mode !== "grpc" && mode !== "http-connect") {
    throw new Error(`mode must be set to either 'grpc' or 'http-connect' not ${quote(mode)}`);
  }
  const listener = shorthandListener(flags, given);
  if (listener === "tcp" && serverCaCert === "") {
    throw new Error("server ca cert must be set when in TCP mode (uds-name is empty)");
  }
  if (listener !== "uds") return;
  // With --listen, a port that was not given is no second listener, and the TLS files belong to the TCP listeners among them.
  const isListening = given.has("listen");
  if (serverPort !== 0 && (given.has("server-port") || !isListening)) {
    throw new Error(`server port should be set to 0 not ${serverPort} for UDS`);
  }
  if (isListening) return;
  if (serverKey !== "") throw new Error("server key should not be set for UDS");
  if (serverCert !== "") throw new Error("server cert should not be set for UDS");
  if (serverCaCert !== "") throw new Error("server ca cert should not be set for UDS");
}

function checkPorts(flags: ServerFlags, given: ReadonlySet<string>): void {
  const ports = [
    ...(shorthandListener(flags, given) === "tcp" ? [["server", flags.serverPort] as const] : []),
    ["agent", flags.agentPort],
    ["admin", flags.adminPort],
    ["health", flags.healthPort],
  ] as const;
  for (const [what, port] of ports) {
    if (port > 49151) throw new Error(`please do not try to use ephemeral port ${port} for the ${what} port`);
  }
  for (const [what, port] of ports) {
    if (port < 1024) throw new Error(`please do not try to use reserved port ${port} for the ${what} port`);
  }
}

export function usesTokenAuthentication(flags: ServerFlags): boolean {
  return flags.agentNamespace + flags.agentServiceAccount + flags.authenticationAudience !== "";
}

function checkTokenAuthentication(flags: ServerFlags): void {
  if (!usesTokenAuthentication(flags)) return;
  if (flags.clusterCaCert !== "") {
    throw new Error("--cluster-ca-cert can not be used when agent authentication is enabled");
  }
  for (const [name, value] of [
    ["agent-namespace", flags.agentNamespace],
    ["agent-service-account", flags.agentServiceAccount],
    ["authentication-audience", flags.authenticationAudience],
  ]) {
    if (value === "") throw new Error(`--${name} cannot be empty when agent authentication is enabled`);
  }
}

function checkTls({ cipherSuites, tlsMinVersion }: ServerFlags, { warn }: Input): void {
  const version = tlsVersion(tlsMinVersion);
  openSslSuites(cipherSuites);
  if (version === "TLSv1.2" || version === "TLSv1.3") return;
  warn(`--tls-min-version=${tlsMinVersion} is below TLS 1.2 and is considered insecure (RFC 8996)`);
}

function checkOurFlags(flags: ServerFlags, given: ReadonlySet<string>): void {
  if (flags.clusterCert === "") {
    throw new Error("agents are only served over TLS: --cluster-cert and --cluster-key must be set");
  }
  if (shorthandListener(flags, given) === "tcp" && flags.serverCert === "") {
    throw new Error("callers on TCP are only served over TLS: --server-cert and --server-key must be set");
  }
  if (flags.clusterCaCert === "" && !usesTokenAuthentication(flags) && !flags.allowUnauthenticatedAgents) {
    throw new Error(
      "anyone could become an agent: set --cluster-ca-cert, or token authentication " +
        "(--agent-namespace, --agent-service-account, --authentication-audience), or --allow-unauthenticated-agents",
    );
  }
  requireFile("agent claims file", flags.agentClaimsFile);
  if (flags.readiness === "path" && flags.watchdogInterval === 0) {
    throw new Error("--readiness=path needs the watchdog: set --watchdog-interval");
  }
  checkCommonFlags(flags);
}

const STRATEGIES: readonly string[] = ["default", "destHost", "defaultRoute", "destCIDR"] satisfies StrategyName[];

export function parseStrategies(text: string): StrategyName[] {
  if (text === "") throw new Error("ProxyStrategies cannot be empty");
  const names = text.split(",").filter((name) => name !== "");
  const unknown = names.find((name) => !STRATEGIES.includes(name));
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

// Go's names for TLS versions and cipher suites, in the words Node's OpenSSL knows.

const TLS_VERSIONS: Readonly<Record<string, TlsPolicy["minVersion"]>> = {
  VersionTLS10: "TLSv1",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

const TLS13_SUITES: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

/** The suites Go calls secure, up to TLS 1.2. */
const TLS12_SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
};

/** Empty means TLS 1.2. Throws an Error with upstream's text. */
export function tlsVersion(goName: string): TlsPolicy["minVersion"] {
  if (goName === "") return "TLSv1.2";
  const version = Object.hasOwn(TLS_VERSIONS, goName) ? TLS_VERSIONS[goName] : undefined;
  if (version !== undefined) return version;
  throw new Error(
    `unsupported TLS version ${quote(goName)}, supported values are: ${Object.keys(TLS_VERSIONS).join(", ")}`,
  );
}

/**
 * Throws an Error with upstream's text for a suite Go does not call secure.
 * The TLS 1.3 suites are always part of the answer: Go does not let them be chosen, and Node switches TLS 1.3 off
 * when a list has none of them.
 */
export function openSslSuites(goNames: readonly string[]): string[] {
  const older: string[] = [];
  for (const goName of goNames) {
    if (TLS13_SUITES.includes(goName)) continue;
    const suite = Object.hasOwn(TLS12_SUITES, goName) ? TLS12_SUITES[goName] : undefined;
    if (suite === undefined) {
      throw new Error(`cipher suite ${goName} not supported, doesn't exist or considered as insecure`);
    }
    older.push(suite);
  }
  return goNames.length === 0 ? [] : [...older, ...TLS13_SUITES];
}

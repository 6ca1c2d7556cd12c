/** The rules of proxy-server's flags: upstream's in upstream's order and words, then drawbridge's. */
import { remedies } from "../../base/errors/catalogue.js";
import type { StrategyName, TlsPolicy } from "../../tunnel/server/config.js";
import { formatDuration, quote } from "../flags/go-values.js";
import type { Input } from "../framework/define.js";
import { checkRules, type FlagRule, fileRule, missingFile, pairRules, profilingRule } from "./process-flags.js";
import type { ServerFlags } from "./server.js";

/** The listener that upstream's own flags describe; with --listen it exists only when they name it. */
export function shorthandListener(flags: ServerFlags, given: ReadonlySet<string>): "uds" | "tcp" | undefined {
  if (flags.udsName !== "") return "uds";
  if (!given.has("listen")) return "tcp";
  return given.has("server-port") && flags.serverPort !== 0 ? "tcp" : undefined;
}

export function usesTokenAuthentication(flags: ServerFlags): boolean {
  return flags.agentNamespace + flags.agentServiceAccount + flags.authenticationAudience !== "";
}

/** Upstream's rules in upstream's order and words, but for those of values that are read into the configuration. */
export function checkUpstreamRules(flags: ServerFlags, { given, warn }: Input): void {
  const { mode, serverPort, serverKey, serverCert, serverCaCert, clusterCaCert } = flags;
  const listener = shorthandListener(flags, given);
  // With --listen, a port that was not given is no second listener, and the TLS files belong to the TCP listeners among them.
  const isListening = given.has("listen");
  const isOnlyUds = listener === "uds" && !isListening;
  const { agentPort: agent, adminPort: admin, healthPort: health } = flags;
  const ports = Object.entries({ ...(listener === "tcp" && { server: serverPort }), agent, admin, health });
  const byToken = usesTokenAuthentication(flags);
  const noKubeconfig = missingFile(flags.kubeconfig);
  checkRules([
    ...pairRules("server", serverCert, serverKey),
    fileRule("server CA cert", serverCaCert),
    ...pairRules("cluster", flags.clusterCert, flags.clusterKey),
    fileRule("cluster CA cert", clusterCaCert),
    [
      mode !== "grpc" && mode !== "http-connect",
      `mode must be set to either 'grpc' or 'http-connect' not ${quote(mode)}`,
    ],
    [listener === "tcp" && serverCaCert === "", "server ca cert must be set when in TCP mode (uds-name is empty)"],
    [
      listener === "uds" && serverPort !== 0 && (given.has("server-port") || !isListening),
      `server port should be set to 0 not ${serverPort} for UDS`,
    ],
    [isOnlyUds && serverKey !== "", "server key should not be set for UDS"],
    [isOnlyUds && serverCert !== "", "server cert should not be set for UDS"],
    [isOnlyUds && serverCaCert !== "", "server ca cert should not be set for UDS"],
    ...ports.map(([what, port]): FlagRule => {
      return [port > 65535, `there is no port ${port} for the ${what} port: the last one is 65535`];
    }),
    ...ports.map(([what, port]): FlagRule => {
      return [port > 49151, `please do not try to use ephemeral port ${port} for the ${what} port`];
    }),
    ...ports.map(([what, port]): FlagRule => {
      return [port < 1024, `please do not try to use reserved port ${port} for the ${what} port`];
    }),
    profilingRule(flags),
    [byToken && clusterCaCert !== "", "--cluster-ca-cert can not be used when agent authentication is enabled"],
    ...Object.entries({
      "agent-namespace": flags.agentNamespace,
      "agent-service-account": flags.agentServiceAccount,
      "authentication-audience": flags.authenticationAudience,
    }).map(([name, value]): FlagRule => {
      return [byToken && value === "", `--${name} cannot be empty when agent authentication is enabled`];
    }),
    [
      noKubeconfig !== undefined,
      `checking KubeconfigPath ${quote(flags.kubeconfig)}, got ${noKubeconfig}`,
      remedies.DB_CERT_MISSING,
    ],
    [flags.xfrChannelSize <= 0, `channel size ${flags.xfrChannelSize} must be greater than 0`],
    notNegative("graceful-shutdown-timeout", flags.gracefulShutdownTimeout),
    notNegative("backend-dial-timeout", flags.backendDialTimeout),
  ]);
  if (tlsVersion(flags.tlsMinVersion) < "TLSv1.2") {
    warn(`--tls-min-version=${flags.tlsMinVersion} is below TLS 1.2 and is considered insecure (RFC 8996)`);
  }
}

const notNegative = (name: string, ms: number): FlagRule => [ms < 0, `${name} must be >= 0, got ${formatDuration(ms)}`];

export function checkOurRules(flags: ServerFlags, { given }: Input): void {
  checkRules([
    [flags.clusterCert === "", "agents are only served over TLS: --cluster-cert and --cluster-key must be set"],
    [
      shorthandListener(flags, given) === "tcp" && flags.serverCert === "",
      "callers on TCP are only served over TLS: --server-cert and --server-key must be set",
    ],
    [
      flags.clusterCaCert === "" && !usesTokenAuthentication(flags) && !flags.allowUnauthenticatedAgents,
      "anyone could become an agent: set --cluster-ca-cert, or token authentication " +
        "(--agent-namespace, --agent-service-account, --authentication-audience), or --allow-unauthenticated-agents",
    ],
    fileRule("agent claims file", flags.agentClaimsFile),
    [
      flags.readiness === "path" && flags.watchdogInterval === 0,
      "--readiness=path needs the watchdog: set --watchdog-interval",
    ],
  ]);
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
  const older = goNames.filter((goName) => !TLS13_SUITES.includes(goName));
  const unknown = older.find((goName) => !Object.hasOwn(TLS12_SUITES, goName));
  if (unknown !== undefined) {
    throw new Error(`cipher suite ${unknown} not supported, doesn't exist or considered as insecure`);
  }
  return goNames.length === 0 ? [] : [...older.map((goName) => TLS12_SUITES[goName]!), ...TLS13_SUITES];
}

/** proxy-agent, which is `drawbridge agent`: upstream's flags with upstream's defaults, then ours. */

import { randomUUID } from "node:crypto";
import { messageOf } from "../../base/errors/error.js";
import { READY_WITH } from "../../tunnel/agent/config.js";
import { IDENTIFIER_KEYS, identifierPairs } from "../../tunnel/wire/identifiers.js";
import {
  duration,
  type Flag,
  filePath,
  inGroup,
  list,
  number,
  oneOf,
  text,
  type Values,
  yesNo,
} from "../flags/flag.js";
import { formatDuration, parseList, quote } from "../flags/go-values.js";
import { labelSelector } from "../flags/label-selector.js";
import { parseFlags } from "../flags/parse.js";
import { defineCommand, type Environment, warnOfWords } from "../framework/define.js";
import { parseServerAddresses } from "./addresses.js";
import {
  checkRules,
  commonConfigOf,
  commonFlags,
  type FlagRule,
  fileRule,
  loggingOf,
  missingFile,
  ours,
  pairRules,
  profilingRule,
  validated,
} from "./process-flags.js";
import { type AgentProcessConfig, runAgent } from "./run-agent.js";

/** Shown as upstream's single string; every occurrence adds. */
const serverHosts: Flag<readonly string[]> = {
  kind: {
    typeName: "string",
    read: (given, earlier = []) => [...earlier, ...(given === "" ? [""] : parseList(given))],
    showDefault: (hosts) => quote(hosts.join(",")),
  },
  value: ["127.0.0.1"],
  usage: "Address of the proxy-server. drawbridge: repeatable or comma-separated, each may carry its own :port.",
};

const DRAIN_HELP =
  "How long the agent may stay after the first signal; it exits once it is idle. 0 waits for a second signal.";

const agentFlags = (env: Environment) => ({
  ...commonFlags,
  "proxy-server-host": serverHosts,
  "proxy-server-port": number(8091, "Port of every --proxy-server-host that carries none."),
  "health-server-host": text("Address of the health port. If empty, all interfaces."),
  "health-server-port": number(8093, "Port of the health checks and metrics."),
  "admin-server-port": number(8094, "Port of metrics, profiling and the admin API."),
  "admin-bind-address": text("Address of the admin port. If empty, all interfaces.", "127.0.0.1"),
  "enable-profiling": yesNo("Serve /debug/pprof on the admin port."),
  "agent-id": text(
    "Identifier of this agent at its servers. The environment variable PROXY_AGENT_ID sets the default.",
    env.PROXY_AGENT_ID || randomUUID(),
  ),
  "agent-identifiers": text(
    "Destinations that this agent can reach, as a URL query of ipv4, ipv6, host, cidr and default-route.",
  ),
  "sync-forever": yesNo("Go on searching after every known server is connected."),
  ...inGroup("tls", {
    "agent-cert": filePath("Certificate this agent shows to proxy-servers."),
    "agent-key": filePath("Key of --agent-cert."),
    "ca-cert": filePath("CA bundle that proxy-servers are verified against."),
    "alpn-proto": list("ALPN names offered before h2, for routers that tell traffic apart."),
  }),
  ...inGroup("kubernetes", {
    "service-account-token-path": filePath("File with the token this agent shows to proxy-servers."),
    "count-server-leases": yesNo("Learn the number of servers from their leases."),
    "lease-namespace": text("Namespace of the leases.", "kube-system"),
    // The name up to upstream's v0.36.
    "lease-label-selector": { ...labelSelector, alias: "lease-label" },
    "server-count-source": {
      ...text(
        "default trusts the leases when they are counted, else the servers; max takes the larger number.",
        "default",
      ),
      offers: ["default", "max"],
    },
    kubeconfig: filePath("How to reach the Kubernetes API. If empty, the in-cluster configuration."),
  }),
  ...inGroup("advanced", {
    "sync-interval": duration(
      "1s",
      "Pause between two searches for more proxy-servers, at first; shorter where few agents share the search.",
    ),
    "sync-interval-cap": duration("10s", "Longest pause between two searches, reached while no server answers."),
    "keepalive-time": duration("1h", "Idle time after which a server connection is pinged."),
    "warn-on-channel-limit": yesNo("Log when a connection's queue is full."),
  }),
  ...inGroup("compatibility", {
    "probe-interval": duration("1s", "Pause between two looks at the state of the connections."),
    "xfr-channel-size": number(150, "Packets a connection may have waiting; our bounds are in bytes."),
    "enable-contention-profiling": yesNo("Accepted together with --enable-profiling."),
    "kube-api-content-type": text(
      "Accepted for compatibility, no effect: the Kubernetes API is spoken in JSON.",
      "application/vnd.kubernetes.protobuf",
    ),
  }),
  ...ours({
    allow: list(
      "Destinations this agent may dial, as NAME, ADDRESS or PREFIX with an optional :PORT; repeatable. If empty, all but the denied.",
    ),
    deny: list("Destinations this agent must not dial, as for --allow; repeatable."),
    "drain-timeout": duration("0s", DRAIN_HELP, { least: 0 }),
    "ready-with": oneOf(
      READY_WITH,
      "What /readyz means: any, a proxy-server is connected; all, as many as this agent looks for.",
      "any",
    ),
    "time-boxed": yesNo("End streams with this agent's certificate, then wait until there is a new one."),
    ...inGroup("advanced", {
      "server-header-timeout": duration("15s", "How long a proxy-server may take to send its first headers.", {
        least: 1,
      }),
    }),
  }),
});

type AgentFlags = Values<ReturnType<typeof agentFlags>>;

export default defineCommand({
  purpose: "Dials out to proxy-servers and opens, on their request, connections in the network it runs in.",
  examples: ["proxy-agent --proxy-server-host=SERVER --ca-cert=ca.crt --agent-cert=agent.crt --agent-key=agent.key"],
  words: "",
  flags: agentFlags,
  config(flags, input) {
    warnOfWords(input.words, input);
    return validated("failed to validate agent options with", () => {
      checkUpstreamRules(flags);
      const config = configOf(flags);
      checkOurRules(flags);
      return { config, logging: loggingOf(flags) };
    });
  },
  run: ({ config, logging }) => runAgent(config, logging),
});

/** What these flags mean to an agent that was started with them, whatever has become of its files since. */
export const readAgentConfig = (argv: readonly string[], env: Environment): AgentProcessConfig =>
  configOf(parseFlags(agentFlags(env), argv).values as AgentFlags);

/** gRPC's clients ping at most every ten seconds; upstream's peers expect the same. */
const SHORTEST_KEEPALIVE_MS = 10_000;

/** Upstream takes 0 and less for "at once"; a loop still has to let others run. */
const atLeastOne = (ms: number): number => Math.max(1, ms);

function configOf(flags: AgentFlags): AgentProcessConfig {
  return {
    agentId: flags.agentId,
    identifiers: flags.agentIdentifiers,
    servers: parseServerAddresses(flags.proxyServerHost, flags.proxyServerPort),
    tls: { caFile: flags.caCert, certFile: flags.agentCert, keyFile: flags.agentKey, alpn: flags.alpnProto },
    tokenFile: flags.serviceAccountTokenPath,
    health: { host: flags.healthServerHost, port: flags.healthServerPort },
    syncIntervalMs: atLeastOne(flags.syncInterval),
    syncIntervalCapMs: atLeastOne(flags.syncIntervalCap),
    probeIntervalMs: atLeastOne(flags.probeInterval),
    keepaliveMs: Math.max(flags.keepaliveTime, SHORTEST_KEEPALIVE_MS),
    syncForever: flags.syncForever,
    serverCountSource: flags.serverCountSource === "max" ? "max" : "default",
    ...(flags.countServerLeases && {
      leases: { namespace: flags.leaseNamespace, labelSelector: flags.leaseLabelSelector },
    }),
    kube: { kubeconfig: flags.kubeconfig, qps: 0, burst: 0 },
    xfrChannelSize: flags.xfrChannelSize,
    warnOnChannelLimit: flags.warnOnChannelLimit,
    headerTimeoutMs: flags.serverHeaderTimeout,
    drainTimeoutMs: flags.drainTimeout,
    readyWith: flags.readyWith,
    timeBoxed: flags.timeBoxed,
    allow: flags.allow,
    deny: flags.deny,
    ...commonConfigOf(flags, flags.adminServerPort),
  };
}

/** Upstream's rules in upstream's order and words. */
function checkUpstreamRules(flags: AgentFlags): void {
  const { syncInterval, syncIntervalCap, serverCountSource } = flags;
  const noKubeconfig = missingFile(flags.kubeconfig);
  checkRules([
    ...pairRules("agent", flags.agentCert, flags.agentKey),
    fileRule("agent CA cert", flags.caCert),
    ...Object.entries({
      "proxy server port": flags.proxyServerPort,
      "health server port": flags.healthServerPort,
      "admin server port": flags.adminServerPort,
      "channel size": flags.xfrChannelSize,
    }).map(([what, value]): FlagRule => [value <= 0, `${what} ${value} must be greater than 0`]),
    profilingRule(flags),
    [
      syncInterval > syncIntervalCap,
      `sync interval ${formatDuration(syncInterval)} must be less than sync interval cap ${formatDuration(syncIntervalCap)}`,
    ],
    fileRule("service account token path", flags.serviceAccountTokenPath),
  ]);
  checkIdentifiers(flags.agentIdentifiers);
  checkRules([
    [noKubeconfig !== undefined, `error checking KubeconfigPath ${quote(flags.kubeconfig)}, got ${noKubeconfig}`],
    [
      !["", "default", "max"].includes(serverCountSource),
      `--server-count-source must be one of '', 'default', 'max', got ${serverCountSource}`,
    ],
  ]);
}

function checkIdentifiers(query: string): void {
  try {
    for (const [key] of identifierPairs(query)) {
      if (!IDENTIFIER_KEYS.some((known) => known === key)) throw new Error(`unknown address type: ${key}`);
    }
  } catch (error) {
    throw new Error(`agent address is invalid: ${messageOf(error)}`);
  }
}

function checkOurRules({ caCert, proxyServerPort, healthServerPort, adminServerPort }: AgentFlags): void {
  checkRules([
    [caCert === "", "proxy-servers are only trusted by a CA bundle: --ca-cert must be set"],
    ...Object.entries({
      "proxy-server-port": proxyServerPort,
      "health-server-port": healthServerPort,
      "admin-server-port": adminServerPort,
    }).map(([name, value]): FlagRule => [value > 65535, `--${name} must be at most 65535, got ${value}`]),
  ]);
}

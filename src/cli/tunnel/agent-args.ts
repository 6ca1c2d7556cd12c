/** proxy-agent's command line as the configuration the agent is told. */

import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type GoDuration, toMilliseconds } from "../flags/go-duration.js";
import { ignoredWords, usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { adminAccessOf } from "./admin-flags.js";
import { type AgentFlags, declareAgentFlags } from "./agent-flags.js";
import { checkAgentFlags } from "./agent-rules.js";
import { flightOf, limitsOf, loggingOf } from "./common-flags.js";
import { clientKeepaliveMs } from "./keepalive.js";
import type { AgentProcessConfig } from "./run-agent.js";
import { parseServerAddresses } from "./server-addresses.js";

export type AgentInvocation = Invocation<AgentProcessConfig>;

const purpose = `Dials out to proxy-servers and opens, on their request, connections in the network it runs in.

  proxy-agent --proxy-server-host=SERVER --ca-cert=ca.crt --agent-cert=agent.crt --agent-key=agent.key`;

/** `argv` without the program; throws a DrawbridgeError whose message is one sentence. */
export function parseAgentArgs(argv: readonly string[], env: Environment, program = "proxy-agent"): AgentInvocation {
  const { set, flags } = declareAgentFlags(env, program);
  const parsed = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  try {
    checkAgentFlags(flags);
    const warnings = [...parsed.warnings, ...ignoredWords(parsed.positional)];
    return { config: configOf(flags), logging: loggingOf(flags), warnings };
  } catch (error) {
    const message = `failed to validate agent options with ${messageOf(error)}`;
    throw new DrawbridgeError("DB_FLAG_VALUE", message, { cause: error });
  }
}

function configOf(flags: AgentFlags): AgentProcessConfig {
  return {
    agentId: flags.agentId.value,
    identifiers: flags.agentIdentifiers.value,
    servers: parseServerAddresses(flags.proxyServerHost.value, flags.proxyServerPort.value),
    tls: {
      caFile: flags.caCert.value,
      certFile: flags.agentCert.value,
      keyFile: flags.agentKey.value,
      alpn: flags.alpnProto.value,
    },
    tokenFile: flags.serviceAccountTokenPath.value,
    health: { host: flags.healthServerHost.value, port: flags.healthServerPort.value },
    admin: {
      host: flags.adminBindAddress.value,
      port: flags.adminServerPort.value,
      ...adminAccessOf(flags),
      profiling: flags.enableProfiling.value,
    },
    syncIntervalMs: pauseMs(flags.syncInterval.value),
    syncIntervalCapMs: pauseMs(flags.syncIntervalCap.value),
    probeIntervalMs: pauseMs(flags.probeInterval.value),
    keepaliveMs: clientKeepaliveMs(flags.keepaliveTime.value),
    syncForever: flags.syncForever.value,
    serverCountSource: flags.serverCountSource.value === "max" ? "max" : "default",
    ...(flags.countServerLeases.value && {
      leases: { namespace: flags.leaseNamespace.value, labelSelector: flags.leaseLabelSelector.value },
    }),
    kube: { kubeconfig: flags.kubeconfig.value, qps: 0, burst: 0 },
    xfrChannelSize: flags.xfrChannelSize.value,
    warnOnChannelLimit: flags.warnOnChannelLimit.value,
    headerTimeoutMs: toMilliseconds(flags.serverHeaderTimeout.value),
    drainTimeoutMs: toMilliseconds(flags.drainTimeout.value),
    timeBoxed: flags.timeBoxed.value,
    allow: flags.allow.value,
    deny: flags.deny.value,
    limits: limitsOf(flags),
    ...flightOf(flags),
  };
}

/** Upstream takes 0 and less for "at once"; a loop still has to let others run. */
function pauseMs(interval: GoDuration): number {
  return Math.max(1, toMilliseconds(interval));
}

/** What must hold between proxy-agent's flags: upstream's rules in upstream's order and words, then ours. */

import { messageOf } from "../../base/errors/error.js";
import { IDENTIFIER_KEYS, identifierKeys } from "../../tunnel/wire/identifiers.js";
import { formatGoDuration } from "../flags/go-duration.js";
import { quote } from "../flags/go-text.js";
import type { AgentFlags } from "./agent-flags.js";
import { checkCommonFlags } from "./common-flags.js";
import { missingFile, requireFile, requirePair } from "./existing-file.js";
import { parseServerAddresses } from "./server-addresses.js";

/** Throws an Error with one sentence. */
export function checkAgentFlags(flags: AgentFlags): void {
  requirePair("agent", flags.agentCert.value, flags.agentKey.value);
  requireFile("agent CA cert", flags.caCert.value);
  const { proxyServerPort, healthServerPort, adminServerPort, xfrChannelSize } = flags;
  for (const [what, { value }] of [
    ["proxy server port", proxyServerPort],
    ["health server port", healthServerPort],
    ["admin server port", adminServerPort],
    ["channel size", xfrChannelSize],
  ] as const) {
    if (value <= 0) throw new Error(`${what} ${value} must be greater than 0`);
  }
  if (flags.enableContentionProfiling.value && !flags.enableProfiling.value) {
    throw new Error("if --enable-contention-profiling is set, --enable-profiling must also be set");
  }
  const [interval, cap] = [flags.syncInterval.value, flags.syncIntervalCap.value];
  if (interval > cap) {
    const shown = [interval, cap].map(formatGoDuration);
    throw new Error(`sync interval ${shown[0]} must be less than sync interval cap ${shown[1]}`);
  }
  requireFile("service account token path", flags.serviceAccountTokenPath.value);
  checkIdentifiers(flags.agentIdentifiers.value);
  const noKubeconfig = missingFile(flags.kubeconfig.value);
  if (noKubeconfig)
    throw new Error(`error checking KubeconfigPath ${quote(flags.kubeconfig.value)}, got ${noKubeconfig}`);
  if (!["", "default", "max"].includes(flags.serverCountSource.value)) {
    throw new Error(`--server-count-source must be one of '', 'default', 'max', got ${flags.serverCountSource.value}`);
  }
  checkOurFlags(flags);
}

function checkIdentifiers(query: string): void {
  try {
    for (const key of identifierKeys(query)) {
      if (!IDENTIFIER_KEYS.some((known) => known === key)) throw new Error(`unknown address type: ${key}`);
    }
  } catch (error) {
    throw new Error(`agent address is invalid: ${messageOf(error)}`);
  }
}

function checkOurFlags(flags: AgentFlags): void {
  parseServerAddresses(flags.proxyServerHost.value, flags.proxyServerPort.value);
  if (flags.caCert.value === "") {
    throw new Error("proxy-servers are only trusted by a CA bundle: --ca-cert must be set");
  }
  for (const { name, value } of [flags.proxyServerPort, flags.healthServerPort, flags.adminServerPort]) {
    if (value > 65535) throw new Error(`--${name} must be at most 65535, got ${value}`);
  }
  if (flags.serverHeaderTimeout.value <= 0n) throw new Error("--server-header-timeout must be greater than 0");
  if (flags.drainTimeout.value < 0n) throw new Error("--drain-timeout must not be negative");
  checkCommonFlags(flags);
}

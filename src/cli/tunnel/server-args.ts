/** proxy-server's command line as the configuration the server is told. */

import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { ListenerConfig } from "../../tunnel/server/config.js";
import { toMilliseconds } from "../flags/go-duration.js";
import { ignoredWords, usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { adminAccessOf } from "./admin-flags.js";
import { flightOf, limitsOf, loggingOf } from "./common-flags.js";
import { requireFile } from "./existing-file.js";
import { serverKeepaliveMs } from "./keepalive.js";
import { type DoorDefaults, parseListen } from "./listen-flag.js";
import type { ServerProcessConfig } from "./run-server.js";
import { declareServerFlags, type ServerFlags } from "./server-flags.js";
import {
  checkServerFlags,
  parseLabels,
  parseStrategies,
  shorthandDoor,
  usesTokenAuthentication,
} from "./server-rules.js";
import { parseFileMode, parseOwner } from "./socket-file.js";
import { openSslSuites, tlsVersion } from "./tls-names.js";

export type ServerInvocation = Invocation<ServerProcessConfig>;

const purpose = `Lets a Kubernetes API server reach networks it has no route to, through agents that dial in.

A door for callers on a Unix socket, one for agents on 8091; drawbridge pki init makes the certificates:
  proxy-server --mode=http-connect --server-port=0 --uds-name=/run/door.sock \\
    --cluster-cert=server.crt --cluster-key=server.key --cluster-ca-cert=ca.crt`;

/** `argv` without the program; throws a DrawbridgeError whose message is one sentence. */
export function parseServerArgs(argv: readonly string[], env: Environment, program = "proxy-server"): ServerInvocation {
  const { set, flags } = declareServerFlags(env, program);
  const parsed = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  try {
    const warnings = [...parsed.warnings, ...ignoredWords(parsed.positional), ...checkServerFlags(flags)];
    return { config: configOf(flags), logging: loggingOf(flags), warnings };
  } catch (error) {
    const message = `failed to validate server options with ${messageOf(error)}`;
    throw new DrawbridgeError("DB_FLAG_VALUE", message, { cause: error });
  }
}

function configOf(flags: ServerFlags): ServerProcessConfig {
  return {
    serverId: flags.serverId.value,
    serverCount: flags.serverCount.value,
    listeners: listenersOf(flags),
    agents: {
      host: flags.agentBindAddress.value,
      port: flags.agentPort.value,
      tls: {
        certFile: flags.clusterCert.value,
        keyFile: flags.clusterKey.value,
        clientCaFile: flags.clusterCaCert.value,
      },
      ...(usesTokenAuthentication(flags) && {
        tokenAuth: {
          namespace: flags.agentNamespace.value,
          serviceAccount: flags.agentServiceAccount.value,
          audience: flags.authenticationAudience.value,
        },
      }),
      allowUnauthenticated: flags.allowUnauthenticatedAgents.value,
      timeBoxed: flags.timeBoxed.value,
      claimsFile: flags.agentClaimsFile.value,
    },
    tlsPolicy: {
      minVersion: tlsVersion(flags.tlsMinVersion.value),
      cipherSuites: openSslSuites(flags.cipherSuites.value),
    },
    pending: {
      handshakeTimeoutMs: toMilliseconds(flags.handshakeTimeout.value),
      maxPending: flags.maxPendingConnections.value,
    },
    health: { host: flags.healthBindAddress.value, port: flags.healthPort.value },
    admin: {
      host: flags.adminBindAddress.value,
      port: flags.adminPort.value,
      ...adminAccessOf(flags),
      profiling: flags.enableProfiling.value,
    },
    strategies: parseStrategies(flags.proxyStrategies.value),
    keepaliveMs: serverKeepaliveMs(flags.keepaliveTime.value),
    frontendKeepaliveMs: serverKeepaliveMs(flags.frontendKeepaliveTime.value),
    dialTimeoutMs: toMilliseconds(flags.backendDialTimeout.value),
    gracefulShutdownMs: toMilliseconds(flags.gracefulShutdownTimeout.value),
    xfrChannelSize: flags.xfrChannelSize.value,
    kube: { kubeconfig: flags.kubeconfig.value, qps: flags.kubeconfigQps.value, burst: flags.kubeconfigBurst.value },
    ...(flags.enableLeaseController.value && {
      leases: { namespace: flags.leaseNamespace.value, labels: parseLabels(flags.leaseLabel.value) },
    }),
    limits: limitsOf(flags),
    ...(flags.watchdogInterval.value > 0n && {
      watchdog: {
        intervalMs: toMilliseconds(flags.watchdogInterval.value),
        timeoutMs: toMilliseconds(flags.watchdogTimeout.value),
        failures: flags.watchdogFailures.value,
      },
    }),
    readiness: flags.readiness.value === "path" ? "path" : "agents",
    ...flightOf(flags),
  };
}

function listenersOf(flags: ServerFlags): ListenerConfig[] {
  const defaults: DoorDefaults = {
    deleteExisting: flags.deleteExistingUdsFile.value,
    fileMode: parseFileMode(flags.udsMode.value),
    owner: flags.udsOwner.value === "" ? undefined : parseOwner(flags.udsOwner.value),
    tls: {
      certFile: flags.serverCert.value,
      keyFile: flags.serverKey.value,
      clientCaFile: flags.serverCaCert.value,
    },
  };
  const doors = flags.listen.value.map((text) => parseListen(text, defaults));
  const shorthand = shorthandDoorConfig(flags, defaults);
  const all = shorthand ? [shorthand, ...doors] : doors;
  for (const door of doors) {
    if (door.transport !== "tcp") continue;
    for (const file of Object.values(door.tls)) requireFile("--listen TLS file", file);
  }
  refuseDuplicates(all);
  return all;
}

function shorthandDoorConfig(flags: ServerFlags, defaults: DoorDefaults): ListenerConfig | undefined {
  const mode = flags.mode.value === "grpc" ? "grpc" : "http-connect";
  switch (shorthandDoor(flags)) {
    case "uds": {
      const { deleteExisting, fileMode, owner } = defaults;
      return { mode, transport: "uds", path: flags.udsName.value, deleteExisting, fileMode, ...(owner && { owner }) };
    }
    case "tcp":
      return {
        mode,
        transport: "tcp",
        host: flags.serverBindAddress.value,
        port: flags.serverPort.value,
        tls: defaults.tls,
      };
    case undefined:
      return undefined;
  }
}

function refuseDuplicates(doors: readonly ListenerConfig[]): void {
  const seen = new Set<string>();
  for (const door of doors) {
    const address = door.transport === "uds" ? door.path : `${door.host}:${door.port}`;
    if (seen.has(address)) throw new Error(`two front doors share the address ${address}; give each its own`);
    seen.add(address);
  }
}

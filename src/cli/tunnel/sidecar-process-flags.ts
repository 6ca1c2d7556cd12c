/** Flags of every command that runs a sidecar: its bounds, its health port, its end, its log. */

import { splitHostPort } from "../../base/address.js";
import { messageOf } from "../../base/errors/error.js";
import type { SidecarConfig } from "../../tunnel/sidecar/config.js";
import type { Target } from "../../tunnel/sidecar/routing/errors.js";
import type { Flag, FlagOptions, FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer, string } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import type { LoggingOptions } from "../framework/invocation.js";
import { addAdminFlags, adminAccessOf, checkAdminFlags } from "./admin-flags.js";
import { parsePort } from "./port.js";

export type SidecarProcessFlags = ReturnType<typeof addSidecarProcessFlags>;

export interface ProcessDefaults {
  readonly healthPort: number;
  readonly logFormat: "text" | "json";
}

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function addSidecarProcessFlags(set: FlagSet, program: string, { healthPort, logFormat }: ProcessDefaults) {
  const time = (name: string, value: string, usage: string) => set.add(name, duration, parseGoDuration(value), usage);
  const number = (name: string, value: number, usage: string, options?: FlagOptions) =>
    set.add(name, integer, value, usage, options);
  return {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    maxConnections: number("max-connections", 4096, "Client connections at a time, over all listeners."),
    handshakeTimeout: time("handshake-timeout", "15s", "How long a client may take to say where it wants to go."),
    maxHeaderBytes: number("max-header-bytes", 32_768, "Bytes that the head of an HTTP request may have."),
    idleTimeout: time("idle-timeout", "0s", "End connections on which nothing moved for so long; 0 never does."),
    dialTimeout: time("dial-timeout", "60s", "How long a target may take to be connected, name lookup included."),
    resolveTimeout: time("resolve-timeout", "15s", "How long one name may take to be looked up."),
    healthBindAddress: set.add(
      "health-bind-address",
      string,
      "",
      "Address of the health port. If empty, all interfaces.",
    ),
    healthPort: number("health-port", healthPort, "Port of /healthz, /readyz and /metrics; 0 opens none."),
    adminBindAddress: set.add(
      "admin-bind-address",
      string,
      "127.0.0.1",
      "Address of the admin port. If empty, all interfaces.",
    ),
    adminPort: number("admin-port", 0, "Port of the admin API, the live page and /metrics; 0 opens none."),
    ...addAdminFlags(set),
    probeInterval: time(
      "probe-interval",
      "10s",
      "Pause between two probes through the tunnel, which decide readiness.",
    ),
    probeTimeout: time("probe-timeout", "5s", "How long a probe may take."),
    probeTarget: set.add(
      "probe-target",
      string,
      "",
      "host:port that probes connect to. If empty, a port of the agent's own: any answer from an agent will do.",
    ),
    drainTimeout: time("drain-timeout", "25s", "How long connections may go on after SIGTERM."),
    logFormat: set.add("log-format", string, logFormat, "Log lines as text or as json."),
    verbosity: number("v", 4, "How much to log; from 5 on every connection.", { shorthand: "v" }),
  };
}

/** One sentence for each mistake. */
export function checkProcessFlags(flags: SidecarProcessFlags): string[] {
  const faults: string[] = [];
  const { logFormat, healthPort, adminPort, idleTimeout, drainTimeout } = flags;
  if (logFormat.value !== "text" && logFormat.value !== "json") {
    faults.push(`--log-format must be text or json, got ${logFormat.value}`);
  }
  for (const flag of [flags.maxConnections, flags.maxHeaderBytes]) {
    if (flag.value <= 0) faults.push(`--${flag.name} must be greater than 0, got ${flag.value}`);
  }
  if (adminPort.value < 0 || adminPort.value > 65_535) faults.push("--admin-port must be from 0 to 65535");
  try {
    checkAdminFlags(flags);
  } catch (reason) {
    faults.push(messageOf(reason));
  }
  if (healthPort.value < 0 || healthPort.value > 65_535) faults.push("--health-port must be from 0 to 65535");
  const waits: readonly Flag<GoDuration>[] = [
    ...[flags.handshakeTimeout, flags.dialTimeout, flags.resolveTimeout],
    ...[flags.probeInterval, flags.probeTimeout],
  ];
  for (const flag of waits) if (flag.value <= 0n) faults.push(`--${flag.name} must be greater than 0`);
  for (const flag of [idleTimeout, drainTimeout]) {
    if (flag.value < 0n) faults.push(`--${flag.name} must not be negative`);
  }
  if (flags.probeTarget.value !== "" && targetOf(flags.probeTarget.value) === undefined) {
    faults.push(`--probe-target must be host:port, got ${flags.probeTarget.value}`);
  }
  return faults;
}

/** Everything but the listeners. */
export function processConfigOf(flags: SidecarProcessFlags): Omit<SidecarConfig, "listeners"> {
  const ms = (flag: Flag<GoDuration>): number => toMilliseconds(flag.value);
  const { value: healthPort } = flags.healthPort;
  const { value: adminPort } = flags.adminPort;
  return {
    limits: {
      maxConnections: flags.maxConnections.value,
      handshakeTimeoutMs: ms(flags.handshakeTimeout),
      maxHeaderBytes: flags.maxHeaderBytes.value,
      idleTimeoutMs: ms(flags.idleTimeout),
    },
    health: healthPort === 0 ? undefined : { host: flags.healthBindAddress.value, port: healthPort },
    ...(adminPort === 0
      ? {}
      : { admin: { host: flags.adminBindAddress.value, port: adminPort, ...adminAccessOf(flags) } }),
    probe: { intervalMs: ms(flags.probeInterval), timeoutMs: ms(flags.probeTimeout) },
    drainTimeoutMs: ms(flags.drainTimeout),
  };
}

/** What the process' flags say about every listener's routing. */
export function routingTimesOf(flags: SidecarProcessFlags) {
  const probe = targetOf(flags.probeTarget.value);
  return {
    timeouts: {
      openMs: toMilliseconds(flags.dialTimeout.value),
      resolveMs: toMilliseconds(flags.resolveTimeout.value),
    },
    ...(probe === undefined ? {} : { probe }),
  };
}

export function sidecarLoggingOf(flags: SidecarProcessFlags): LoggingOptions {
  return { verbosity: flags.verbosity.value, format: flags.logFormat.value === "json" ? "json" : "text" };
}

/** Undefined unless it is `host:port`. */
export function targetOf(text: string): Target | undefined {
  const split = splitHostPort(text);
  if ("error" in split || split.host === "") return undefined;
  const port = parsePort(split.port);
  return port === undefined ? undefined : { host: split.host, port };
}

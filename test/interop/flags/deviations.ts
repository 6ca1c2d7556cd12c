/** The only differences that `--help` may have from the Go originals; docs/compatibility.md says why. */
import type { Program } from "./programs.js";

export interface Deviations {
  /** Flags upstream does not have. */
  readonly added: readonly string[];
  /** Flags that upstream merged after the pinned release. */
  readonly newer: readonly string[];
  /** Flags we accept but do not show. */
  readonly hidden: readonly string[];
  /** Flags whose default differs: what we show. */
  readonly defaults: Readonly<Record<string, string>>;
}

const common = [
  "admin-cert-file",
  "admin-key-file",
  "admin-token-file",
  "credit-budget-bytes",
  "dump-dir",
  "flight-recorder",
  "log-format",
  "process-queue-bytes",
  "tunnel-queue-bytes",
  "version",
];

export const deviations: Readonly<Record<Program, Deviations>> = {
  "proxy-server": {
    added: [
      ...common,
      "agent-claims-file",
      "allow-unauthenticated-agents",
      "handshake-timeout",
      "listen",
      "max-pending-connections",
      "readiness",
      "wait-for-agent",
      "time-boxed",
      "uds-mode",
      "uds-owner",
      "watchdog-failures",
      "watchdog-interval",
      "watchdog-timeout",
    ],
    newer: ["frontend-write-channel-size"],
    hidden: [],
    defaults: { "backend-dial-timeout": "15s" },
  },
  "proxy-agent": {
    added: [...common, "allow", "deny", "drain-timeout", "ready-with", "server-header-timeout", "time-boxed"],
    // Under that name since the release after v0.36; lease-label stays its alias.
    newer: ["lease-label-selector"],
    hidden: ["lease-label"],
    defaults: {},
  },
};

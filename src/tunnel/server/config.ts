/** The configuration of a proxy-server. The command line builds it (cli/), embedders may build it by hand. */
import type { ProcessConfig } from "../process-config.js";

/** Certificates as files, so that they can be replaced on disk while the server runs. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Callers must present a certificate from this bundle. Empty: no client certificate is asked for. */
  readonly clientCaFile: string;
}

export interface TlsPolicy {
  /** Node's names, e.g. `TLSv1.2`. */
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  /** OpenSSL names; empty: the runtime's default. No effect on TLS 1.3. */
  readonly cipherSuites: readonly string[];
}

export type FrontendMode = "grpc" | "http-connect";

/** One frontend. */
export type ListenerConfig =
  | {
      readonly mode: FrontendMode;
      readonly transport: "uds";
      readonly path: string;
      readonly deleteExisting: boolean;
      /** File mode of the socket; upstream's umask yields 0770. */
      readonly fileMode: number;
      /** Numeric owner of the socket file; undefined leaves what the process has. */
      readonly owner?: { readonly uid: number; readonly gid: number };
    }
  | {
      readonly mode: FrontendMode;
      readonly transport: "tcp";
      readonly host: string;
      readonly port: number;
      readonly tls: TlsFiles;
    };

export type StrategyName = "default" | "destHost" | "defaultRoute" | "destCIDR";

export const READINESS_RULES = ["agents", "any", "all", "path"] as const;
export type ReadinessRule = (typeof READINESS_RULES)[number];

export interface TokenAuthConfig {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audience: string;
}

/** How agents' paths are checked (server/watchdog). */
export interface WatchdogConfig {
  /** Time between two probes of one agent. */
  readonly intervalMs: number;
  /** Deadline of one probe. */
  readonly timeoutMs: number;
  /** After this many failures in a row the link is ended. */
  readonly failures: number;
}

export interface ServerConfig extends ProcessConfig {
  readonly serverId: string;
  readonly serverCount: number;
  readonly listeners: readonly ListenerConfig[];
  readonly agents: {
    readonly host: string;
    readonly port: number;
    readonly tls: TlsFiles;
    readonly tokenAuth?: TokenAuthConfig;
    readonly allowUnauthenticated: boolean;
    /** Streams end when the certificates their agents came with end. */
    readonly timeBoxed: boolean;
    /** JSON or YAML file that maps certificates and service accounts to the identifiers they may claim; empty: no rules. */
    readonly claimsFile: string;
  };
  readonly tlsPolicy: TlsPolicy;
  /** Limits of connections whose peers are not known yet, at each listener of agents and callers. */
  readonly pending?: { readonly handshakeTimeoutMs: number; readonly maxPending: number };
  readonly strategies: readonly StrategyName[];
  readonly frontendKeepaliveMs: number;
  /** 0 switches the deadline off. */
  readonly dialTimeoutMs: number;
  /** How long a dial waits for an agent when none takes it. Default 0: not at all. */
  readonly waitForAgentMs?: number;
  readonly gracefulShutdownMs: number;
  /** Upstream's --xfr-channel-size: packets a frontend may have waiting before it is paused. */
  readonly xfrChannelSize: number;
  /** Undefined: agents are not probed. */
  readonly watchdog?: WatchdogConfig;
  /**
   * `agents`: the first strategy has one, as upstream has it, and the default. `any`: some strategy has one. `all`: each
   * has. `path`: as `agents`, and bytes come through one.
   */
  readonly readiness?: ReadinessRule;
}

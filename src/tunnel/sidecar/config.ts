/** What a sidecar is told. The command line builds it (cli/). */
import type { WayConfig } from "./way/config.js";

export type Protocol = "socks5" | "http";

export interface ListenerConfig {
  /** In logs and metrics: the address as it was written, without options. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly where: Place;
  readonly way: WayConfig;
}

export type Place =
  /** An empty host means all interfaces. */
  { readonly host: string; readonly port: number } | { readonly path: string; readonly fileMode: number };

/** What no client may exceed. */
export interface Limits {
  /** Connections of clients, over all listeners. */
  readonly maxConnections: number;
  /** Until a client has said where it wants to go. */
  readonly handshakeTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** For connections on which nothing moves; 0: for ever. */
  readonly idleTimeoutMs: number;
}

export interface AdminPlace {
  readonly host: string;
  readonly port: number;
  readonly tokenFile: string;
  /** Undefined: in the clear, and the API on loopback only. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
}

export interface SidecarConfig {
  readonly listeners: readonly ListenerConfig[];
  readonly limits: Limits;
  /** Undefined: no health port. */
  readonly health: { readonly host: string; readonly port: number } | undefined;
  /** Undefined: no admin port. */
  readonly admin?: AdminPlace;
  readonly probe: { readonly intervalMs: number; readonly timeoutMs: number };
  /** How long connections may go on after the first signal. */
  readonly drainTimeoutMs: number;
}

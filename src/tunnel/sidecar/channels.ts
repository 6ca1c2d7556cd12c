/** What happens in a sidecar, for its log, its metrics and the admin API; no text here may hold a secret. */

import { Channel, type Sourced } from "../../base/channel.js";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import type { RelayedConnection, TargetRequest } from "./connection-handler.js";
import type { FailureKind } from "./routing/errors.js";
import type { RouteKind } from "./routing/router.js";

/** What a client came for: a connection by SOCKS5, CONNECT or Upgrade, or the answer to one HTTP request. */
export type ClientRequestKind = "socks5" | "connect" | "upgrade" | "forward";

export type RequestOutcome =
  | "established"
  | FailureKind
  /** The client went away first. */
  | "abandoned"
  /** The client did not say in time what it wanted. */
  | "late"
  | "malformed"
  /** It wanted something that is not offered: another command, authentication, a web page. */
  | "unsupported"
  /** There were too many connections. */
  | "full";

export interface RequestDecided extends Sourced {
  readonly listener: string;
  readonly kind: ClientRequestKind;
  readonly outcome: RequestOutcome;
  /** Undefined when nobody found out what the client wanted. */
  readonly request?: TargetRequest;
  /** `host:port`, once known. */
  readonly target?: string;
  /** Empty when established. */
  readonly error: string;
  /** Of the catalogue, where there is one. */
  readonly code?: string | undefined;
  /** Undefined when nothing was dialled, or a connection was used again. */
  readonly dialMs?: number | undefined;
}

const channel = <T>(event: string) => new Channel<T & Sourced>("shared", `sidecar-${event}`);

export const requestDecided = channel<RequestDecided>("request-decided");
export const connectionClosed = channel<{
  readonly connection: RelayedConnection;
  readonly listener: string;
  readonly target: string;
  readonly durationMs: number;
  readonly bytesToTarget: number;
  readonly bytesFromTarget: number;
  readonly error: string;
}>("connection-closed");
export const routeTaken = channel<{ readonly listener: string; readonly route: RouteKind }>("route-taken");
/** `active`: targets are dialled directly from now on. */
export const fallbackChanged = channel<{ readonly listener: string; readonly active: boolean; readonly why: string }>(
  "fallback-changed",
);
/** The error is empty when an agent answered. */
export const probeEnded = channel<{ readonly listener: string; readonly error: string; readonly code?: ErrorCode }>(
  "probe-ended",
);

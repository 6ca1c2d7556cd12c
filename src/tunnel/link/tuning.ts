/** Sizes and times of the data path. No protocol prescribes them; the benchmark decides about them. */
import type { Session } from "./h2/session.js";

const KIB = 1024;
const MIB = 1024 * KIB;

/** One staging buffer. Large enough that a busy link hands the transport few, big writes. */
export const STAGING_BYTES = 128 * KIB;

/** Free staging buffers kept for reuse, process-wide. */
export const STAGING_POOL = 16;

/** A link with this much waiting tells its sources to pause, and to go on at half of it. */
export const HIGH_WATER_BYTES = 192 * KIB;
export const LOW_WATER_BYTES = HIGH_WATER_BYTES / 2;

/**
 * Control packets that may wait for a peer: two hundred thousand tunnels' ends. Most are answers to what the peer sent,
 * and one that goes on sending without reading them is ended.
 */
export const MAX_CONTROL_BYTES = 4 * MIB;

/** Payload of one DATA packet: what upstream's own server sends at most. */
export const MAX_DATA_BYTES = 32 * KIB;

/**
 * HTTP/2 receive windows. Node does no bandwidth probing, so they must be wide from the start; they also bound what a
 * paused link may have buffered.
 */
export const LINK_WINDOW_BYTES = 4 * MIB;
/** One gRPC caller's: it has a stream of its own, and there may be thousands whose endpoints do not read. */
export const CALLER_WINDOW_BYTES = 128 * KIB;
export const SESSION_WINDOW_BYTES = 8 * MIB;

/**
 * Streams of one connection. Agents open one; gRPC callers may share a connection, and grpc-go's wait for their turn
 * when it is full.
 */
export const MAX_AGENT_STREAMS = 100;
export const MAX_CALLER_STREAMS = 1000;

/** A peer that has not answered a ping for this long is gone. gRPC's own default. */
export const PING_TIMEOUT_MS = 20_000;

/** Pings a session for as long as it lives, and destroys it when no answer comes in time. */
export function keepAlive(session: Session, everyMs: number, onLate: () => void): void {
  const { runtime } = session;
  let cancelTimeout: (() => void) | undefined;
  const ping = (): void => {
    cancelTurn = runtime.after(everyMs, ping);
    if (cancelTimeout !== undefined) return;
    cancelTimeout = runtime.after(PING_TIMEOUT_MS, () => {
      onLate();
      session.destroy();
    });
    session.ping(() => {
      cancelTimeout?.();
      cancelTimeout = undefined;
    });
  };
  let cancelTurn = runtime.after(everyMs, ping);
  session.once("close", () => {
    cancelTurn();
    cancelTimeout?.();
  });
}

/** What gRPC makes of a keepalive flag before it is used; upstream's peers expect the same. */
import { type GoDuration, toMilliseconds } from "../flags/go-duration.js";

const SECOND = 1_000_000_000n;

/** A server pings at most every second; 0 means gRPC's own two hours. */
export function serverKeepaliveMs(time: GoDuration): number {
  if (time === 0n) return toMilliseconds(7200n * SECOND);
  return toMilliseconds(time < SECOND ? SECOND : time);
}

/** A client pings at most every ten seconds. */
export function clientKeepaliveMs(time: GoDuration): number {
  return toMilliseconds(time < 10n * SECOND ? 10n * SECOND : time);
}

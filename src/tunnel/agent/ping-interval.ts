/** Upstream's server takes pings that are less than 30 s apart for abuse and hangs up after three. */
const SAFE_PING_MS = 31_000;
const FASTEST_PING_MS = 10_000;
/** A dead server is noticed within this and the 20 s a ping may take, whatever --keepalive-time says. */
const SLOWEST_PING_MS = 35_000;

/** How often to ping a server, given --keepalive-time and whether it is a drawbridge. */
export function pingInterval(configuredMs: number, extended: boolean): number {
  return Math.min(SLOWEST_PING_MS, Math.max(configuredMs, extended ? FASTEST_PING_MS : SAFE_PING_MS));
}

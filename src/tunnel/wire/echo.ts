/**
 * Where a drawbridge agent answers by itself: whatever is sent there comes back. The watchdog of a server dials it over
 * the same link as everybody's connections. `invalid` is reserved (RFC 6761), so it is no host's name anywhere.
 */
export const ECHO_HOST = "echo.drawbridge.invalid";
export const ECHO_ADDRESS = `${ECHO_HOST}:7`;

/** In Go's words, what everybody else hears who asks for it. */
export const ECHO_REFUSAL = `dial tcp: lookup ${ECHO_HOST}: no such host`;

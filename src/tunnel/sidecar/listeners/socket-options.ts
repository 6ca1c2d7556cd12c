/** For the sockets of clients. Half-open, so that the end of what one side sends leaves the other direction alone. */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  // A client that vanished is noticed although nothing is sent.
  keepAlive: true,
  keepAliveInitialDelay: 15_000,
} as const;

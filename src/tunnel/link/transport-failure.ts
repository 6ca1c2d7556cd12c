/** The system's codes of connections that were open. */
const BROKEN: Readonly<Record<string, string>> = {
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was reset",
  ETIMEDOUT: "the other side did not answer any more",
  EHOSTUNREACH: "there is no route to the other side any more",
  ENETUNREACH: "there is no route to the other side any more",
};

/** Why a connection broke, for people: OpenSSL's own errors hide their reason between numbers. */
export function transportFailure(error: Error): string {
  const { reason, code } = error as Error & { reason?: string; code?: string };
  if (reason === undefined) return BROKEN[code ?? ""] ?? error.message;
  // "tlsv13 alert certificate required": what the other side objected to.
  const alert = /\balert (.+)$/.exec(reason)?.[1];
  if (alert !== undefined) return `the other side refused the TLS connection: ${alert}`;
  return code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE" ? "it showed no certificate" : `TLS: ${reason}`;
}

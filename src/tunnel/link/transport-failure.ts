/** Why a connection broke, for people: OpenSSL's own errors hide their reason between numbers. */
export function transportFailure(error: Error): string {
  const { reason, code } = error as Error & { reason?: string; code?: string };
  if (reason === undefined) return error.message;
  // "tlsv13 alert certificate required": what the other side objected to.
  const alert = /\balert (.+)$/.exec(reason)?.[1];
  if (alert !== undefined) return `the other side refused the TLS connection: ${alert}`;
  return code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE" ? "it showed no certificate" : `TLS: ${reason}`;
}

/** Whom a machine trusts: the usual authorities and those of its config. */
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";

/** Reading the usual ones takes longer than a fetch, and all fetches of a machine trust the same. */
const known = new Map<string, SecureContext>();
const MOST = 16;

/** PEM. Throws what OpenSSL says about a certificate that it cannot read. */
export function trustIn(own: readonly string[]): SecureContext {
  const key = own.join("\n");
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = createSecureContext({ ca: [...rootCertificates, ...own] });
  if (known.size >= MOST) known.clear();
  known.set(key, made);
  return made;
}

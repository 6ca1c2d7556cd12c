/** Whether some authority at hand really signed a certificate. */
import type { X509Certificate } from "node:crypto";

export type ChainResult =
  | { readonly state: "verified"; readonly chain: readonly X509Certificate[] }
  /** An authority of the issuer's name is here, but it is not the one that signed. */
  | { readonly state: "forged" }
  /** Authorities are here, none has the issuer's name. */
  | { readonly state: "foreign" }
  | { readonly state: "unknown" };

const LONGEST_CHAIN = 8;

export function chainOf(certificate: X509Certificate, authorities: readonly X509Certificate[]): ChainResult {
  const chain = [certificate];
  for (let last = certificate; chain.length < LONGEST_CHAIN; ) {
    if (signed(last, last)) return { state: "verified", chain };
    const next = authorities.find((authority) => !chain.includes(authority) && signed(last, authority));
    if (next === undefined) break;
    chain.push(next);
    last = next;
  }
  // The authority above the last one need not be here: what is trusted is what the files hold.
  if (chain.length > 1) return { state: "verified", chain };
  if (authorities.some((authority) => authority.subject === certificate.issuer)) return { state: "forged" };
  return { state: authorities.length > 0 ? "foreign" : "unknown" };
}

function signed(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

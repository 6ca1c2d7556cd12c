/** Judges the certificates of peers: after the handshake, and again with every request on a connection from before. */
import type { X509Certificate } from "node:crypto";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { connectionOf } from "../../base/connections.js";
import type { RefusedPeer } from "../events/facts.js";
import { issuerProblem } from "../pki/issuer-problem.js";
import { lifeProblem } from "../pki/manifest.js";
import { certificatesIn, isSignedBy } from "../pki/pem.js";
import { CLIENT_AUTH } from "../pki/request.js";
import { isForUse, listed, quotedName, shownCertificate } from "../pki/shown.js";

/** Why a peer is refused. */
export type Refusal = Pick<RefusedPeer, "code" | "reason" | "certificate">;

/** OpenSSL's own bound. */
const LONGEST_CHAIN = 100;

export class PeerTrust {
  #ca: string;
  #authorities: readonly X509Certificate[] | undefined;
  /** When the authorities last changed, by performance.now(). */
  #changedAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  /** `now` is the wall clock, in milliseconds. */
  constructor({ ca }: SecureContextOptions, now: () => number = Date.now) {
    this.#ca = String(ca);
    this.#now = now;
  }

  /** Peers are verified against these authorities from now on. */
  update({ ca }: SecureContextOptions): void {
    if (String(ca) === this.#ca) return;
    this.#ca = String(ca);
    this.#authorities = undefined;
    this.#changedAt = performance.now();
  }

  /**
   * Why a peer that has just finished its handshake is not admitted; undefined when it is. OpenSSL lets the handshakes of
   * all of them succeed, so that the certificate can be named: nothing but this keeps them out.
   */
  verdict(socket: TLSSocket): Refusal | undefined {
    const certificate = socket.getPeerX509Certificate();
    // Asked first: Node takes a resumed session without a certificate for an authorized one.
    if (certificate === undefined) {
      const reason = `it showed no certificate: it has none, or keeps back one that is not of ${this.#trusted()}, as Go programs do`;
      return { code: "DB_PEER_NO_CERT", reason };
    }
    const shown = shownCertificate(certificate);
    if (socket.isSessionReused()) {
      const reason = "it resumed a TLS session, which would not be verified again";
      return { code: "DB_PEER_TLS", reason, certificate: shown };
    }
    if (socket.authorized === true) return undefined;
    return { ...this.#objection(certificate, String(socket.authorizationError)), certificate: shown };
  }

  /** OpenSSL names the last of its objections; a person needs the one that has to be fixed first. */
  #objection(leaf: X509Certificate, error: string): Refusal {
    const shown = chainOf(leaf);
    const anchor = this.#anchorOf(shown.at(-1)!);
    if (anchor === undefined) return { code: "DB_PEER_CERT_UNTRUSTED", reason: this.#distrust(shown.at(-1)!) };
    const chain = shown.includes(anchor) ? shown : [...shown, anchor];
    for (const each of chain) {
      const problem = lifeProblem({ notBefore: each.validFrom, notAfter: each.validTo }, new Date(this.#now()));
      const whose = each === leaf ? "its certificate" : `the certificate of its issuer ${quotedName(each.subject)}`;
      if (problem?.id === "expired") {
        const code = each === leaf ? "DB_PEER_CERT_EXPIRED" : "DB_PEER_CERT_CHAIN";
        return { code, reason: `${whose} ${problem.words}` };
      }
      if (problem?.id === "not-yet-valid") {
        return { code: "DB_PEER_CERT_NOT_YET_VALID", reason: `${whose} ${problem.words}` };
      }
    }
    const issuers = issuerProblem(chain, error);
    if (issuers !== undefined) return { code: "DB_PEER_CERT_CHAIN", reason: `its certificate ${issuers}` };
    if (error === "INVALID_PURPOSE" || !isForUse(leaf, CLIENT_AUTH)) {
      return { code: "DB_PEER_CERT_USE", reason: "its certificate is not for TLS clients (clientAuth)" };
    }
    return { code: "DB_PEER_CERT_CHAIN", reason: `its certificate is not accepted: OpenSSL says ${error}` };
  }

  /** The authority that a chain with this last certificate ends at: itself, or the one that signed it. */
  #anchorOf(last: X509Certificate): X509Certificate | undefined {
    if (this.#anchors.some(({ fingerprint256 }) => fingerprint256 === last.fingerprint256)) return last;
    return this.#anchors.find((each) => isSignedBy(last, each));
  }

  /** Why the last certificate of a chain is none of our authorities' own. */
  #distrust(last: X509Certificate): string {
    const authorities = this.#anchors;
    const issuer = quotedName(last.issuer);
    const namesakes = authorities.filter(({ subject }) => subject === last.issuer);
    if (namesakes.some(({ publicKey }) => last.verify(publicKey))) {
      return `its certificate names another key of its issuer (authority key identifier) than the CA ${issuer} has`;
    }
    if (namesakes.length > 0) {
      return `its certificate was signed by another key than that of the CA ${issuer} in this listener's CA file`;
    }
    return `its certificate was issued by ${issuer}, and this listener trusts ${this.#trusted()}`;
  }

  get #anchors(): readonly X509Certificate[] {
    this.#authorities ??= certificatesIn(this.#ca).map(({ certificate }) => certificate);
    return this.#authorities;
  }

  #trusted(): string {
    return listed(this.#anchors.map(({ subject }) => quotedName(subject)));
  }

  /** Why the peer has to connect again, where it is judged by what is in force then; undefined when it need not. */
  refusal(socket: TLSSocket): Refusal | undefined {
    if ((connectionOf(socket)?.acceptedAt ?? Number.NEGATIVE_INFINITY) < this.#changedAt) {
      const reason = "the CA bundle was replaced after this connection was opened";
      return { code: "DB_PEER_CERT_UNTRUSTED", reason };
    }
    const leaf = socket.getPeerX509Certificate();
    const ended = leaf && chainOf(leaf).find(({ validTo }) => Date.parse(validTo) < this.#now());
    if (leaf === undefined || ended === undefined) return undefined;
    const reason = `its certificate ended on ${ended.validTo}`;
    return { code: "DB_PEER_CERT_EXPIRED", reason, certificate: shownCertificate(leaf) };
  }
}

/** From the leaf to the last certificate that is known; a root, which is its own issuer, ends it. */
function chainOf(leaf: X509Certificate): X509Certificate[] {
  const chain = [leaf];
  for (let each = leaf; each.subject !== each.issuer && chain.length < LONGEST_CHAIN; ) {
    const issuer = each.issuerCertificate;
    if (issuer === undefined) break;
    chain.push(issuer);
    each = issuer;
  }
  return chain;
}

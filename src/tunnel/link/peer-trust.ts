/** Judges the certificates of peers: after the handshake, and again with every request on a connection from before. */
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, SecureContextOptions, TLSSocket } from "node:tls";
import { connectionOf } from "../../base/connections.js";
import type { RefusedPeer } from "../events/facts.js";
import { issuerProblem } from "../pki/issuer-problem.js";
import { lifeProblem } from "../pki/manifest.js";
import { certificatesIn, endOf, followChain, isAmong, LONGEST_CHAIN } from "../pki/pem.js";
import { CLIENT_AUTH } from "../pki/request.js";
import { isForUse, listed, quotedName, shownCertificate } from "../pki/shown.js";

/** Why a peer is refused. */
export type Refusal = Pick<RefusedPeer, "code" | "reason" | "remedy" | "certificate">;

/** Of a whole handshake. Parsing more certificates than fit in here, to name one to blame, costs more than refusing. */
const MOST_EXPLAINED_BYTES = 8 * 1024;

export class PeerTrust {
  #ca: string;
  #authorities: readonly X509Certificate[] | undefined;
  /** When the authorities last changed, by performance.now(). */
  #changedAt = Number.NEGATIVE_INFINITY;
  readonly #admitted = new WeakMap<TLSSocket, Admitted>();
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
    const isVerified = socket.authorized === true;
    const [leaf, ...others] = isVerified ? verifiedChain(socket) : shownBy(socket);
    // Asked first: Node takes a resumed session without a certificate for an authorized one.
    if (leaf === undefined) {
      const reason = `it showed no certificate: it has none, or keeps back one that is not of ${this.#trusted()}, as Go programs do`;
      return { code: "DB_PEER_NO_CERT", reason };
    }
    if (socket.isSessionReused()) {
      const reason = "it resumed a TLS session, which would not be verified again";
      return { code: "DB_PEER_TLS", reason, certificate: shownCertificate(leaf) };
    }
    if (isVerified) {
      // OpenSSL has checked the signatures.
      const chain = followChain(leaf, others, this.#anchors, (each, issuer) => each.checkIssued(issuer));
      this.#admitted.set(socket, { leaf, firstToEnd: chain.sort((one, other) => endOf(one) - endOf(other))[0]! });
      return undefined;
    }
    const chain = followChain(leaf, others, this.#anchors);
    return { ...this.#objection(leaf, chain, String(socket.authorizationError)), certificate: shownCertificate(leaf) };
  }

  /** OpenSSL names the last of its objections; a person needs the one that has to be fixed first. */
  #objection(leaf: X509Certificate, chain: readonly X509Certificate[], error: string): Refusal {
    const distrust = this.#distrust(chain);
    if (distrust !== undefined) return { code: "DB_PEER_CERT_UNTRUSTED", reason: distrust };
    for (const each of chain) {
      const problem = lifeProblem({ notBefore: each.validFrom, notAfter: each.validTo }, new Date(this.#now()));
      if (problem?.id === "expired") {
        const code = each === leaf ? "DB_PEER_CERT_EXPIRED" : "DB_PEER_CERT_CHAIN";
        return { code, reason: `${whose(each, leaf)} ${problem.lasting}` };
      }
      if (problem?.id === "not-yet-valid") {
        return { code: "DB_PEER_CERT_NOT_YET_VALID", reason: `${whose(each, leaf)} ${problem.lasting}` };
      }
    }
    const issuers = issuerProblem(chain, error);
    if (issuers !== undefined) return { code: "DB_PEER_CERT_CHAIN", reason: `its certificate ${issuers}` };
    const other = chain.find((each) => !isForUse(each, CLIENT_AUTH));
    if (other !== undefined) {
      const code = other === leaf ? "DB_PEER_CERT_USE" : "DB_PEER_CERT_CHAIN";
      return { code, reason: `${whose(other, leaf)} is not for TLS clients (clientAuth)` };
    }
    if (error === "INVALID_PURPOSE") {
      return { code: "DB_PEER_CERT_USE", reason: "its certificate is not for TLS clients, by its key usage" };
    }
    return { code: "DB_PEER_CERT_CHAIN", reason: `its certificate is not accepted: OpenSSL says ${error}` };
  }

  /** What keeps a chain from ending at one of our authorities. */
  #distrust(chain: readonly X509Certificate[]): string | undefined {
    const last = chain.at(-1)!;
    if (isAmong(last, this.#anchors)) return undefined;
    const issuer = quotedName(last.issuer);
    const its = whose(last, chain[0]!);
    const namesakes = this.#anchors.filter(({ subject }) => subject === last.issuer);
    if (namesakes.some(({ publicKey }) => last.verify(publicKey))) {
      return `${its} is of the CA ${issuer}, but has malformed extensions or names another key of it (authority key identifier)`;
    }
    if (namesakes.length > 0) {
      return `${its} was signed by another key than that of the CA ${issuer} in this listener's CA file: the files come from different issues, so that it needs a certificate and a key of the same issue as that CA`;
    }
    return `${its} was issued by ${issuer}, and this listener trusts ${this.#trusted()}`;
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
    const admitted = this.#admitted.get(socket);
    const judgedAt = admitted?.judgedAt ?? connectionOf(socket)?.acceptedAt ?? Number.NEGATIVE_INFINITY;
    if (judgedAt < this.#changedAt && (admitted === undefined || !this.#isStillTrusted(admitted))) {
      const reason = "the CA bundle was replaced after this connection was opened";
      return { code: "DB_PEER_CERT_UNTRUSTED", reason };
    }
    if (admitted === undefined || endOf(admitted.firstToEnd) >= this.#now()) return undefined;
    const { leaf, firstToEnd } = admitted;
    const reason = `${whose(firstToEnd, leaf)} ended on ${firstToEnd.validTo}`;
    return { code: "DB_PEER_CERT_EXPIRED", reason, certificate: shownCertificate(leaf) };
  }

  /** By the authorities of now. The rest of its chain is forgotten: a peer with an intermediate one has to connect again. */
  #isStillTrusted(admitted: Admitted): boolean {
    const chain = followChain(admitted.leaf, [], this.#anchors);
    if (!isAmong(chain.at(-1)!, this.#anchors) || chain.slice(1).some(({ ca }) => !ca)) return false;
    admitted.firstToEnd = chain.sort((one, other) => endOf(one) - endOf(other))[0]!;
    admitted.judgedAt = this.#changedAt;
    return true;
  }

  /** What an admitted peer showed; a closed socket does not know it any more. */
  shownBy(socket: TLSSocket): Pick<Refusal, "certificate"> {
    const leaf = this.#admitted.get(socket)?.leaf;
    return leaf === undefined ? {} : { certificate: shownCertificate(leaf) };
  }
}

interface Admitted {
  readonly leaf: X509Certificate;
  /** Of all that the peer is trusted for. */
  firstToEnd: X509Certificate;
  /** When it was judged again after a change of the authorities, by performance.now(). */
  judgedAt?: number;
}

function whose(certificate: X509Certificate, leaf: X509Certificate): string {
  if (certificate.fingerprint256 === leaf.fingerprint256) return "its certificate";
  return `the certificate of its issuer ${quotedName(certificate.subject)}`;
}

/** The certificates of a peer that OpenSSL trusts, its own first. Node has them only for the first who asks. */
function verifiedChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let each = socket.getPeerX509Certificate();
  while (each !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(each);
    each = each.issuerCertificate;
  }
  return chain;
}

/**
 * The same of any peer, and not as above: the memory of those objects comes back one link of the chain at a time, with
 * every full garbage collection, so that strangers who send long chains would fill it.
 */
function shownBy(socket: TLSSocket): X509Certificate[] {
  const isShort = (connectionOf(socket)?.socket.bytesRead ?? 0) <= MOST_EXPLAINED_BYTES;
  // Without a certificate it is an empty object.
  let each: Partial<DetailedPeerCertificate> = isShort ? socket.getPeerCertificate(true) : socket.getPeerCertificate();
  const shown: X509Certificate[] = [];
  while (each.raw !== undefined && shown.length < LONGEST_CHAIN) {
    shown.push(new X509Certificate(each.raw));
    // A root is its own issuer.
    each = each.issuerCertificate === each ? {} : (each.issuerCertificate ?? {});
  }
  return shown;
}

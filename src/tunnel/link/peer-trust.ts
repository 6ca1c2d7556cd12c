/** Whether a peer that was verified when its connection was opened would be admitted now, too. */
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { connectionOf } from "../../base/connections.js";

/** OpenSSL's own bound. */
const LONGEST_CHAIN = 100;

export class PeerTrust {
  #ca: string;
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
    this.#changedAt = performance.now();
  }

  /** Why the peer has to connect again, where it is judged by what is in force then; undefined when it need not. */
  refusal(socket: TLSSocket): string | undefined {
    if ((connectionOf(socket)?.acceptedAt ?? Number.NEGATIVE_INFINITY) < this.#changedAt) {
      return "the CA bundle was replaced after this connection was opened";
    }
    let each = socket.getPeerX509Certificate();
    for (let depth = 0; each !== undefined && depth < LONGEST_CHAIN; depth++) {
      if (Date.parse(each.validTo) < this.#now()) return `its certificate ended on ${each.validTo}`;
      // A root is its own issuer.
      if (each.subject === each.issuer) return undefined;
      each = each.issuerCertificate;
    }
    return undefined;
  }
}

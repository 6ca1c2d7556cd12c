/** An Ignition server as the admin API shows it. */
import { hostname } from "node:os";
import type { FetchRecorder, RefusedFetch, ServedFetch } from "../../../cluster/ignition/server/fetches.js";
import type { CertificateSet } from "../../../tunnel/pki/certificate-set.js";
import type { CertificatesInUse } from "../admin/certificates.js";
import type { Totals } from "../admin/contract.js";
import type { ObservedRole } from "../admin/observed-role.js";
import { RefusalLog } from "../refusals.js";
import { NO_TRAFFIC } from "./common.js";

export class ObservedIgnitionServer implements ObservedRole {
  readonly refusals = new RefusalLog();
  /** Where the certificate is, and what is in force; known once the server is up. */
  #certificate: { readonly place: string; readonly current: () => CertificateSet } | undefined;
  #served = 0;
  #refused = 0;

  /** Counts what goes by. */
  watch(recorder: FetchRecorder): FetchRecorder {
    return {
      served: (fetch: ServedFetch) => {
        this.#served++;
        recorder.served(fetch);
      },
      refused: (fetch: RefusedFetch) => {
        this.#refused++;
        this.refusals.add({ target: fetch.claimed.pool ?? "", why: fetch.why, remote: fetch.remote });
        recorder.refused(fetch);
      },
    };
  }

  up(place: string, current: () => CertificateSet): void {
    this.#certificate = { place, current };
  }

  process() {
    const ready = this.#certificate !== undefined;
    return {
      role: "ignition" as const,
      id: hostname(),
      ready,
      draining: false,
      unreadyReason: ready ? undefined : "there is no certificate to serve with yet",
    };
  }

  totals(): Omit<Totals, "at"> {
    return { ...NO_TRAFFIC, payloadsServed: this.#served, fetchesRefused: this.#refused };
  }

  certificates(): CertificatesInUse[] {
    if (this.#certificate === undefined) return [];
    const { place, current } = this.#certificate;
    return [{ use: "machines", certFile: place, cert: current().cert }];
  }
}

/** What a sidecar tells the admin API about itself. */
import { hostname } from "node:os";
import { certificatesOf, describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { requestDecided } from "../../../tunnel/sidecar/channels.js";
import type { RelayedConnection, UnservedRequest } from "../../../tunnel/sidecar/connection-handler.js";
import type { Sidecar } from "../../../tunnel/sidecar/sidecar.js";
import { CertificateBook, rereadNowAndThen } from "../admin/certificate-book.js";
import type { CertificateInfo, PathHealth, ServerPeer, Totals } from "../admin/contract.js";
import { EndedTunnels } from "../admin/ended.js";
import type { LiveTunnel, Subject } from "../admin/subject.js";
import { DialTally } from "../admin/tally.js";
import { type TunnelFacts, TunnelRows } from "../admin/tunnel-row.js";
import { RefusalLog } from "../refusals.js";

export class SidecarSubject implements Subject {
  readonly ended = new EndedTunnels();
  readonly refusals = new RefusalLog();
  readonly #sidecar: Sidecar;
  readonly #frontends: readonly Frontend[];
  readonly #rows = new TunnelRows("server", performance.timeOrigin);
  readonly #tally = new DialTally();
  readonly #book = new CertificateBook((pem) => certificatesIn(pem).map(({ certificate }) => certificate));

  constructor(sidecar: Sidecar) {
    this.#sidecar = sidecar;
    const all = sidecar.config.listeners.flatMap(({ routing: way }) => way.frontends);
    this.#frontends = [...new Map(all.map((frontend) => [describeFrontend(frontend), frontend])).values()];
  }

  /** Keeps what is over from here on. */
  remember(): void {
    requestDecided.subscribe(({ outcome, dialMs = 0 }) => {
      this.#tally.count(outcome === "established", dialMs);
    }, this.#sidecar);
    for (const { handler: desk } of this.#sidecar.listeners) {
      desk.onUnserved = (unserved) => this.#keep(unserved);
      desk.onEnded = (pair, error) => {
        const end = { at: performance.now(), reason: error || "both ends closed", ...(error === "" ? {} : { error }) };
        this.ended.keep(this.#rows, factsOf(pair), undefined, end);
      };
    }
  }

  /** Whoever left was not refused, but what was dialled for them came to nothing all the same. */
  #keep({ request: asked, outcome, error, code }: UnservedRequest): void {
    const refused = { target: asked?.address ?? "", why: error, ...(code === undefined ? {} : { code }) };
    const refusal = outcome === "abandoned" ? {} : { refusalId: this.refusals.add(refused) };
    if (asked === undefined || asked.dialledAt === 0) return;
    const end = { at: performance.now(), reason: error, error, ...refusal };
    this.ended.add(this.#rows.failed(asked, undefined, end));
  }

  process() {
    const { readiness, draining } = this.#sidecar;
    return {
      role: "sidecar" as const,
      id: hostname(),
      ready: readiness.ready,
      draining,
      ...(readiness.ready ? {} : { unreadyReason: readiness.why }),
    };
  }

  path(): PathHealth {
    const { ready, why } = this.#sidecar.readiness;
    return ready ? { state: "ok" } : { state: "failing", error: why };
  }

  totals(): Omit<Totals, "at"> {
    const totals = {
      ...{ bytesToTarget: 0, bytesFromTarget: 0, tunnelsOpen: 0, dialsPending: 0, queuedBytes: 0 },
      ...this.#tally.totals,
    };
    for (const { handler: desk } of this.#sidecar.listeners) {
      totals.bytesToTarget += desk.traffic.toTarget;
      totals.bytesFromTarget += desk.traffic.fromTarget;
      totals.tunnelsOpen += desk.connectionCount;
      totals.dialsPending += desk.dialling;
      for (const { relay } of desk.connections()) totals.queuedBytes += relay.status.queuedBytes;
    }
    return totals;
  }

  readonly certificates = rereadNowAndThen((last: readonly CertificateInfo[] = []) => {
    try {
      return this.#frontends.flatMap((frontend) => this.#certificatesOf(frontend));
    } catch {
      // The next dial will say so, in the log; what is shown here is what there was.
      return last;
    }
  });

  #certificatesOf(frontend: Frontend): readonly CertificateInfo[] {
    if (!("tls" in frontend)) return [];
    const { tls } = frontend;
    const { cert, ca } = certificatesOf(tls);
    const use = `frontend ${describeFrontend(frontend)}`;
    return [
      ...this.#book.describe({ file: tls.certFile ?? "", use, kind: "own" }, cert),
      ...this.#book.describe({ file: tls.caFile ?? "", use, kind: "trusted" }, ca),
    ];
  }

  servers(): readonly ServerPeer[] {
    return this.#frontends.map((frontend, at) => ({ key: at + 1, address: describeFrontend(frontend) }));
  }

  *tunnels(): Iterable<LiveTunnel> {
    for (const { handler: desk } of this.#sidecar.listeners) {
      for (const asked of desk.dials()) yield this.#rows.dialing(asked, undefined);
      for (const pair of desk.connections()) yield this.#rows.live(factsOf(pair));
    }
  }

  closeTunnel(id: number): boolean {
    for (const { handler: desk } of this.#sidecar.listeners) {
      for (const pair of desk.connections()) {
        if (pair.info.id !== id) continue;
        pair.relay.cut("closed by an operator");
        return true;
      }
    }
    return false;
  }
}

function factsOf({ relay, info }: RelayedConnection): TunnelFacts {
  const { queuedBytes, ...standing } = relay.status;
  return { ...standing, info, port: { queuedBytes }, sendWindow: undefined, receiveWindow: undefined };
}

/** A sidecar as the admin API shows it. */
import { hostname } from "node:os";
import { certificatesOf, describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { connectionClosed, requestDecided } from "../../../tunnel/sidecar/channels.js";
import type { RelayedConnection } from "../../../tunnel/sidecar/connection-handler.js";
import type { Sidecar } from "../../../tunnel/sidecar/sidecar.js";
import { RereadCertificates } from "../admin/certificates.js";
import type { PathHealth, ServerPeer, Totals } from "../admin/contract.js";
import type { LiveTunnel, ObservedRole } from "../admin/observed-role.js";
import { endedTunnels, type TunnelFacts, TunnelRows } from "../admin/tunnel-row.js";
import { ProcessHistory } from "../history/process-history.js";
import { RefusalLog } from "../refusals.js";
import { DialCounts, NO_TRAFFIC } from "./common.js";

export class ObservedSidecar implements ObservedRole {
  readonly ended = endedTunnels();
  readonly refusals = new RefusalLog();
  readonly history = new ProcessHistory();
  readonly #sidecar: Sidecar;
  readonly #frontends: readonly Frontend[];
  readonly #files: readonly RereadCertificates[];
  readonly #rows = new TunnelRows("server", performance.timeOrigin);
  readonly #dials = new DialCounts();

  constructor(sidecar: Sidecar) {
    this.#sidecar = sidecar;
    const all = sidecar.config.listeners.flatMap(({ routing }) => routing.frontends);
    this.#frontends = [...new Map(all.map((frontend) => [describeFrontend(frontend), frontend])).values()];
    this.#files = this.#frontends.flatMap((frontend) => {
      if (!("tls" in frontend)) return [];
      const { tls } = frontend;
      return new RereadCertificates(`frontend ${describeFrontend(frontend)}`, tls, () => certificatesOf(tls));
    });
  }

  /** Keeps ended connections, failed dials and refusals from here on. */
  remember(): void {
    requestDecided.subscribe(({ request, outcome, error, code, dialMs = 0 }) => {
      this.#dials.count(outcome === "established", dialMs);
      const failure = outcome === "established" ? undefined : error;
      const isUndecided = outcome === "abandoned";
      if (request !== undefined)
        this.history.dialEnded({ target: request.address, ms: dialMs, error: failure, isUndecided });
      if (outcome === "established") return;
      // A client that hung up was not refused, but what was dialled for it came to nothing all the same.
      const refusal = { target: request?.address ?? "", why: error, code };
      const refusalId = outcome === "abandoned" ? undefined : this.refusals.add(refusal);
      if (request === undefined || request.dialledAt === 0) return;
      this.ended.keep(this.#rows.ended(request, undefined, { at: performance.now(), reason: error, error, refusalId }));
    }, this.#sidecar);
    connectionClosed.subscribe(({ connection, error }) => {
      const end = { at: performance.now(), reason: error || "both ends closed", error: error || undefined };
      this.ended.keep(this.#rows.ended(connection.info, undefined, end, factsOf(connection)));
    }, this.#sidecar);
  }

  process() {
    const { readiness, draining } = this.#sidecar;
    return {
      role: "sidecar" as const,
      id: hostname(),
      ready: readiness.ready,
      draining,
      ...(readiness.ready ? {} : { unreadyReason: readiness.why, unreadyCauses: readiness.causes }),
    };
  }

  path(): PathHealth {
    const { ready, why } = this.#sidecar.readiness;
    return ready ? { state: "ok" } : { state: "failing", error: why };
  }

  totals(): Omit<Totals, "at"> {
    const totals = { ...NO_TRAFFIC, ...this.#dials.totals };
    for (const { handler } of this.#sidecar.listeners) {
      totals.bytesToTarget += handler.traffic.toTarget;
      totals.bytesFromTarget += handler.traffic.fromTarget;
      totals.tunnelsOpen += handler.connections.size;
      totals.dialsPending += handler.dials.size;
      for (const { relay } of handler.connections) totals.queuedBytes += relay.status.queuedBytes;
    }
    return totals;
  }

  certificates() {
    return this.#files.map(({ inUse }) => inUse);
  }

  unusedFiles() {
    return this.#files.flatMap(({ unused }) => unused);
  }

  servers(): readonly ServerPeer[] {
    return this.#frontends.map((frontend, at) => ({ key: at + 1, address: describeFrontend(frontend) }));
  }

  *tunnels(): Iterable<LiveTunnel> {
    for (const { handler } of this.#sidecar.listeners) {
      for (const dial of handler.dials.values()) yield this.#rows.live(dial);
      for (const connection of handler.connections) yield this.#rows.live(connection.info, {}, factsOf(connection));
    }
  }
}

function factsOf({ relay, info }: RelayedConnection): TunnelFacts {
  const { queuedBytes, ...status } = relay.status;
  const windows = { sendWindow: undefined, receiveWindow: undefined };
  return { ...status, info, port: { queuedBytes }, ...windows, close: (reason) => relay.cut(reason) };
}

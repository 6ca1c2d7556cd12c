/** An agent as the admin API shows it. */
import { messageOf } from "../../../base/errors/error.js";
import { shown } from "../../../base/redact/redact.js";
import type { ProxyAgent } from "../../../tunnel/agent/agent.js";
import type { ServerLink } from "../../../tunnel/agent/server-link.js";
import {
  agentDialEnded,
  agentDraining,
  agentServerConnected,
  agentServerDisconnected,
  agentTunnelClosed,
} from "../../../tunnel/events/channels.js";
import type { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import { parseDestination } from "../../../tunnel/wire/destination.js";
import { RereadCertificates } from "../admin/certificates.js";
import type { Forecast, ServerPeer, Totals } from "../admin/contract.js";
import type { LiveTunnel, ObservedRole } from "../admin/observed-role.js";
import { endedTunnels, type LinkPeer, TunnelRows } from "../admin/tunnel-row.js";
import { ProcessHistory } from "../history/process-history.js";
import { RefusalLog } from "../refusals.js";
import { DialCounts, hundredths, onceEach } from "./common.js";

/** As long as a dial may look a name up. */
const EXPLAIN_LOOKUP_MS = 5_000;

export class ObservedAgent implements ObservedRole {
  readonly ended = endedTunnels();
  /** Dials that its policy refused. */
  readonly refusals = new RefusalLog();
  readonly history: ProcessHistory;
  readonly #agent: ProxyAgent;
  readonly #rows: TunnelRows;
  readonly #epoch: number;
  readonly #dials = new DialCounts();
  readonly #files: RereadCertificates;
  #drainingSince: number | undefined;
  readonly #peerOf = onceEach(
    (link: ServerLink): LinkPeer => ({ server: { key: link.number, id: shown(link.serverId) } }),
  );

  constructor(agent: ProxyAgent) {
    this.#agent = agent;
    this.#files = new RereadCertificates("servers", agent.config.tls);
    this.#epoch = Date.now() - agent.runtime.now();
    this.#rows = new TunnelRows("agent", this.#epoch);
    this.history = new ProcessHistory(agent.runtime);
  }

  /** Keeps ended tunnels, failed dials and refusals from here on. */
  remember(): void {
    const agent = this.#agent;
    agentDialEnded.subscribe(({ link, asked, outcome, error, durationMs }) => {
      this.#dials.count(outcome === "established", durationMs);
      const failure = outcome === "established" ? undefined : error;
      const isUndecided = outcome === "policy" || outcome === "cancelled";
      const peer = link.serverId;
      this.history.dialEnded({ target: asked.address, peer, ms: durationMs, error: failure, isUndecided });
      if (outcome === "policy") this.refusals.add({ target: asked.address, why: error });
      if (outcome === "established") return;
      this.ended.keep(this.#rows.ended(asked, this.#peerOf(link), { at: agent.runtime.now(), reason: error, error }));
    }, agent);
    agentTunnelClosed.subscribe(({ link, tunnel, reason }) => {
      this.ended.keep(this.#rows.ended(tunnel.info, this.#peerOf(link), { at: agent.runtime.now(), reason }, tunnel));
    }, agent);
    agentDraining.subscribe(() => {
      this.#drainingSince ??= Date.now();
    }, agent);
    const connectedAt = new Map<string, number>();
    agentServerConnected.subscribe(({ serverId }) => {
      connectedAt.set(serverId, Date.now());
      this.history.peerCame(serverId);
    }, agent);
    agentServerDisconnected.subscribe(({ serverId: id, address, reason }) => {
      this.history.peerLeft({ id, address, connectedAt: connectedAt.get(id) ?? Date.now(), reason });
      connectedAt.delete(id);
    }, agent);
  }

  process() {
    const { config, ready, unreadyReason: why, unreadyCauses, draining } = this.#agent;
    return {
      role: "agent" as const,
      id: config.agentId,
      ready,
      draining,
      drainingSinceAt: this.#drainingSince,
      ...(ready ? {} : { unreadyReason: why ?? "no server is connected", unreadyCauses }),
      identifiers: config.identifiers,
      serverCount: this.#agent.readings().knownServerCount(),
    };
  }

  get flights(): FlightHistory | undefined {
    return this.#agent.flights;
  }

  totals(): Omit<Totals, "at"> {
    const { traffic } = this.#agent;
    const readings = this.#agent.readings();
    let dialsPending = 0;
    for (const link of this.#agent.links()) dialsPending += link.pendingDials;
    return {
      bytesToTarget: traffic.fromServers,
      bytesFromTarget: traffic.toServers,
      tunnelsOpen: readings.openEndpointConnections(),
      dialsPending,
      ...this.#dials.totals,
      queuedBytes: readings.queuedBytes(),
    };
  }

  certificates() {
    return [this.#files.inUse];
  }

  unusedFiles() {
    return this.#files.unused;
  }

  *servers(): Iterable<ServerPeer> {
    for (const link of this.#agent.links()) {
      const { toFar, toNear } = link.tunnels.traffic;
      const { roundTripMs, queuedBytes } = link.stream;
      yield {
        key: link.number,
        id: shown(link.serverId),
        address: link.address,
        drawbridge: link.extended,
        connectedAt: Math.round(this.#epoch + link.connectedAt),
        roundTripMs: hundredths(roundTripMs),
        draining: link.leaving,
        tunnels: link.tunnels.size,
        bytesToTarget: toNear,
        bytesFromTarget: toFar,
        queuedBytes,
      };
    }
  }

  *tunnels(): Iterable<LiveTunnel> {
    for (const link of this.#agent.links()) {
      const peer = this.#peerOf(link);
      for (const asked of link.dials()) yield this.#rows.live(asked, peer);
      for (const tunnel of link.tunnels.values()) yield this.#rows.live(tunnel.info, peer, tunnel);
    }
  }

  /** Looks the name up and asks the policy, as a dial would. */
  async explain(target: string): Promise<Forecast> {
    const to = parseDestination(target);
    if ("error" in to) return { target, possible: false, why: `It cannot be dialled: ${to.error}.` };
    const { host, port } = to;
    const deadline = AbortSignal.timeout(EXPLAIN_LOOKUP_MS);
    try {
      const addresses = host.kind === "address" ? [host.text] : await this.#agent.resolver.find(host.text, deadline);
      const refusals = addresses.map((address) => this.#agent.policy.refusal(host, address, port));
      const allowed = addresses.filter((_, at) => refusals[at] === undefined);
      if (allowed.length > 0) return { target, possible: true, why: `It would be dialled at ${allowed.join(", ")}.` };
      return { target, possible: false, why: `The destination policy refuses it: ${refusals[0]}.` };
    } catch (reason) {
      const why = deadline.aborted ? `lookup ${host.text}: i/o timeout` : messageOf(reason);
      return { target, possible: false, why: `${why}.` };
    }
  }

  drain(): boolean {
    this.#agent.drain();
    return true;
  }
}

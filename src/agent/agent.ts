/** A proxy-agent: connections to its servers, and what they ask it to open. */

import { messageOf } from "../errors/error.js";
import { SegmentCounters } from "../link/counters.js";
import { goCodeName } from "../link/grpc-status.js";
import { keepAlive } from "../link/keepalive.js";
import { PacketStream } from "../link/packet-stream.js";
import {
  agentDialEnded,
  agentDraining,
  agentServerDisconnected,
  agentTunnelClosed,
  leaseListed,
  leaseWatched,
  note,
  streamError,
  tunnelCut,
} from "../observe/channels.js";
import type { AgentReadings } from "../observe/metrics/readings.js";
import { Budget } from "../tunnel/budget.js";
import { type Clock, systemClock } from "../tunnel/clock.js";
import { untilDate } from "../tunnel/until-date.js";
import type { AgentConfig } from "./config.js";
import { connectOnce, type ServerConnection } from "./connect.js";
import { pingInterval } from "./ping-interval.js";
import { DestinationPolicy } from "./policy.js";
import { createServerCount, type ServerCount } from "./server-count/server-count.js";
import { ServerLink } from "./server-link.js";
import { ServerSet } from "./server-set.js";
import { certificateEnd, restReason } from "./time-box.js";

export class ProxyAgent {
  readonly config: AgentConfig;
  readonly #clock: Clock;
  readonly #budget: Budget;
  readonly #policy: DestinationPolicy;
  readonly #received = new SegmentCounters();
  readonly #sent = new SegmentCounters();
  readonly #count: ServerCount;
  readonly #servers: ServerSet;
  /** All links with tunnels, those of servers that are going away included. */
  readonly #links = new Set<ServerLink>();
  #connectIds = 0;
  #running: Promise<void> | undefined;

  constructor(config: AgentConfig, clock: Clock = systemClock) {
    this.config = config;
    this.#clock = clock;
    this.#budget = new Budget(config.limits);
    this.#policy = new DestinationPolicy(config.allow, config.deny);
    this.#count = createServerCount({
      config,
      onListed: (status, seconds, reason) =>
        leaseListed.publish({ source: this, status, durationMs: seconds * 1000, reason }),
      onWatched: (status, reason) => leaseWatched.publish({ source: this, status, durationMs: 0, reason }),
      onError: (reason) =>
        note.publish({ source: this, level: "warn", message: `counting server leases: ${messageOf(reason)}` }),
    });
    this.#servers = new ServerSet({
      source: this,
      config,
      clock,
      count: this.#count,
      connect: (server) => connectOnce(config, server),
      adopt: (connection, address) => this.#adopt(connection, address),
      ...(config.timeBoxed ? { restReason: () => restReason(config.tls.certFile) } : {}),
    });
  }

  get ready(): boolean {
    return this.#servers.size > 0;
  }

  /** Why it is not ready, where there is more to say than that no server is connected. */
  get unreadyReason(): string | undefined {
    return this.#servers.resting;
  }

  /** Could end now without a byte lost. */
  get idle(): boolean {
    return [...this.#links].every((link) => link.idle && !link.flushing);
  }

  start(): void {
    this.#count.start();
    this.#running = this.#servers.run();
  }

  /** Asks the servers to prefer other agents; everything goes on as it was. */
  drain(): void {
    this.#servers.drain();
    for (const link of this.#links) link.drain();
    agentDraining.publish({ source: this });
  }

  async stop(): Promise<void> {
    this.#servers.stop();
    for (const link of this.#links) link.cancel("the agent is stopping");
    await Promise.all([this.#running, this.#count.stop()]);
  }

  #adopt(connection: ServerConnection, address: string): ServerLink {
    const { session, stream, serverId, extended } = connection;
    const link = new ServerLink({
      serverId,
      address,
      extended,
      budget: this.#budget,
      clock: this.#clock,
      policy: this.#policy,
      nextConnectId: () => ++this.#connectIds,
      events: {
        onDialEnded: (dial) => agentDialEnded.publish({ source: this, ...dial }),
        onTunnelFinished: (tunnel, reason) =>
          agentTunnelClosed.publish({
            source: this,
            address: tunnel.info.address,
            connectId: tunnel.connectId,
            durationMs: this.#clock.now() - tunnel.info.openedAt,
            bytesToServer: tunnel.bytesToFar,
            bytesToEndpoint: tunnel.bytesToNear,
            reason,
          }),
        onTunnelCut: (tunnel, queuedBytes) =>
          tunnelCut.publish({
            source: this,
            address: tunnel.info.address,
            connectId: tunnel.connectId,
            queuedBytes,
            reason: `the endpoint did not read while server ${serverId}, which knows no window, went on sending`,
          }),
        onClosed: (closed, end) => {
          endTimeBox();
          this.#links.delete(closed);
          this.#servers.forget(closed);
          session.destroy();
          if (end.status !== 0) {
            const code = goCodeName(end.status);
            streamError.publish({ source: this, segment: "to_agent", code, packetType: "Unknown" });
          }
          agentServerDisconnected.publish({ source: this, serverId, address, reason: end.reason });
        },
      },
    });
    const endTimeBox = this.#timeBox(link);
    this.#links.add(link);
    link.attach(new PacketStream(stream, link, this.#received, this.#sent));
    keepAlive(session, pingInterval(this.config.keepaliveMs, extended), () =>
      note.publish({
        source: this,
        level: "warn",
        message: "the server answers no pings",
        fields: { serverId, address },
      }),
    );
    // The server is leaving: look for its successor, but let the tunnels that stand finish.
    session.once("goaway", () => {
      this.#servers.forget(link);
      if (link.idle && !link.flushing) link.cancel("the server is shutting down");
    });
    return link;
  }

  #timeBox(link: ServerLink): () => void {
    const end = this.config.timeBoxed ? certificateEnd(this.config.tls.certFile) : undefined;
    if (end === undefined) return () => {};
    return untilDate(this.#clock, end, () => link.cancel("this agent's certificate has ended"));
  }

  readings(): AgentReadings {
    return {
      openServerConnections: () => this.#servers.size,
      knownServerCount: () => this.#servers.wanted,
      openEndpointConnections: () => [...this.#links].reduce((sum, link) => sum + link.tunnels.size, 0),
      segments: () => [
        ["to_agent", this.#received],
        ["from_agent", this.#sent],
      ],
      queuedBytes: () => this.#budget.queuedBytes,
    };
  }

  /** For the admin API. */
  describeServers(): object[] {
    return [...this.#links].map((link) => ({
      serverId: link.serverId,
      address: link.address,
      drawbridge: link.extended,
      tunnels: link.tunnels.size,
    }));
  }

  describeTunnels(): object[] {
    const now = this.#clock.now();
    return [...this.#links].flatMap((link) =>
      [...link.tunnels.values()].map((tunnel) => ({
        serverId: link.serverId,
        connectId: String(tunnel.connectId),
        address: tunnel.info.address,
        openSeconds: (now - tunnel.info.openedAt) / 1000,
        bytesToServer: tunnel.bytesToFar,
        bytesToEndpoint: tunnel.bytesToNear,
        queuedBytes: tunnel.port.queuedBytes,
      })),
    );
  }
}

/** A proxy-server: front doors for callers, one door for agents, the switchboard between them. */
import { DrawbridgeError } from "../errors/error.js";
import { SegmentCounters } from "../link/counters.js";
import { createGrpcListener, type GrpcListener } from "../link/listener.js";
import { LINK_WINDOW_BYTES } from "../link/tuning.js";
import { listening } from "../observe/channels.js";
import type { AgentLoad, ServerReadings } from "../observe/metrics/readings.js";
import { Budget } from "../tunnel/budget.js";
import { type Clock, systemClock } from "../tunnel/clock.js";
import { joinHostPort } from "../wire/address.js";
import type { ClaimRules } from "./agents/claims.js";
import { AgentDoor } from "./agents/door.js";
import { AgentRegistry } from "./agents/registry.js";
import type { TokenAuthenticator } from "./agents/token-auth.js";
import { type WatchedCertificates, watchCertificates } from "./certificates.js";
import type { FrontendMode, ServerConfig } from "./config.js";
import { createFrontDoor, type FrontDoor, openDoor } from "./frontends/door.js";
import { listenOn } from "./listen.js";
import { Switchboard } from "./switchboard.js";

/** What the command line decided and what has to be loaded only then. */
export interface ServerParts {
  readonly tokens?: TokenAuthenticator | undefined;
  readonly claims?: ClaimRules | undefined;
  readonly clock?: Clock;
}

export class ProxyServer {
  readonly config: ServerConfig;
  readonly board: Switchboard;
  readonly #clock: Clock;
  readonly #counters = {
    from_client: new SegmentCounters(),
    to_client: new SegmentCounters(),
    from_agent: new SegmentCounters(),
    to_agent: new SegmentCounters(),
  };
  readonly #frontDoors: FrontDoor[] = [];
  readonly #certificates: WatchedCertificates[] = [];
  readonly #agentDoor: AgentDoor;
  #agentListener: GrpcListener | undefined;
  #draining = false;

  constructor(config: ServerConfig, parts: ServerParts = {}) {
    this.config = config;
    const { tls, allowUnauthenticated } = config.agents;
    if (tls.clientCaFile === "" && parts.tokens === undefined && !allowUnauthenticated) {
      const message = "agents would be let in without a certificate or a token, and nobody asked for that.";
      throw new DrawbridgeError("DB_AGENT_AUTH_MISSING", message);
    }
    const { claims } = parts;
    this.#clock = parts.clock ?? systemClock;
    this.board = new Switchboard({
      source: this,
      registry: new AgentRegistry(
        config.strategies,
        this.#clock,
        Math.random,
        (host) => claims?.reserves(host) ?? false,
      ),
      clock: this.#clock,
      budget: new Budget(config.limits),
      dialTimeoutMs: config.dialTimeoutMs,
    });
    this.#agentDoor = new AgentDoor({
      board: this.board,
      serverId: config.serverId,
      serverCount: config.serverCount,
      received: this.#counters.from_agent,
      sent: this.#counters.to_agent,
      tokens: parts.tokens,
      claims,
      timeBoxed: config.agents.timeBoxed,
    });
  }

  /** Not while it drains: whoever balances between servers should choose another. */
  get ready(): boolean {
    return !this.#draining && this.board.registry.ready;
  }

  /** Why it is not ready, where there is more to say than that no agent is connected. */
  get unreadyReason(): string | undefined {
    return this.#draining ? "shutting down" : undefined;
  }

  /** Opens every door, or none. */
  async start(): Promise<void> {
    try {
      await this.#openAgentDoor();
      for (const listener of this.config.listeners) await this.#openFrontDoor(listener);
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  async #openAgentDoor(): Promise<void> {
    const { agents, keepaliveMs } = this.config;
    const certificates = this.#watch(agents.tls);
    const listener = createGrpcListener({
      method: "/AgentService/Connect",
      tls: { ...certificates.context, requestCert: agents.tls.clientCaFile !== "" },
      keepaliveMs,
      streamWindowBytes: LINK_WINDOW_BYTES,
      onCall: (call) => this.#agentDoor.onCall(call),
      onTlsError: (error, remote) => this.#agentDoor.onTlsError(error, remote),
    });
    this.#agentListener = listener;
    certificates.onChange((context) => listener.server.setSecureContext?.(context));
    const where = { port: agents.port, ...(agents.host === "" ? {} : { host: agents.host }) };
    await listenOn(listener.server, "agent", where);
    listening.publish({ source: this, what: "agents", address: joinHostPort(agents.host, agents.port) });
  }

  async #openFrontDoor(config: ServerConfig["listeners"][number]): Promise<void> {
    const certificates = config.transport === "tcp" ? this.#watch(config.tls) : undefined;
    const door = createFrontDoor({
      board: this.board,
      config,
      keepaliveMs: this.config.frontendKeepaliveMs,
      received: this.#counters.from_client,
      sent: this.#counters.to_client,
      ...(certificates === undefined ? {} : { tls: certificates.context }),
    });
    this.#frontDoors.push(door);
    certificates?.onChange((context) => door.setSecureContext(context));
    const address = await openDoor(door);
    listening.publish({ source: this, what: `${config.mode} frontend`, address });
  }

  #watch(files: Parameters<typeof watchCertificates>[1]): WatchedCertificates {
    const certificates = watchCertificates(this, files, this.config.tlsPolicy);
    this.#certificates.push(certificates);
    return certificates;
  }

  /** Looks at all certificate files now. */
  checkCertificates(): void {
    for (const certificates of this.#certificates) certificates.check();
  }

  /**
   * Turns new callers and agents away and waits until the last tunnel is done, at most `limitMs`. True when all were.
   * Agents that can are told to look for this server's successor meanwhile.
   */
  async drain(limitMs: number): Promise<boolean> {
    this.#draining = true;
    for (const door of this.#frontDoors) door.drain();
    this.#agentListener?.server.close();
    this.#agentDoor.sayGoodbye();
    const deadline = this.#clock.now() + limitMs;
    while (this.#busy && this.#clock.now() < deadline) {
      await new Promise<void>((resolve) => this.#clock.after(50, resolve));
    }
    return !this.#busy;
  }

  /** Bytes of tunnels that are over may still be on their way to a caller or an agent. */
  get #busy(): boolean {
    const { establishedTunnels, pendingDials, registry } = this.board;
    if (establishedTunnels > 0 || pendingDials > 0 || this.#frontDoors.some((door) => door.flushing)) return true;
    for (const link of registry.links()) if (link.queuedBytes > 0) return true;
    return false;
  }

  destroy(): void {
    this.#agentListener?.destroy();
    for (const door of this.#frontDoors) door.destroy();
    for (const certificates of this.#certificates) certificates.close();
  }

  /** What metrics read when they are scraped. */
  readings(): ServerReadings {
    const { board } = this;
    const { listeners } = this.config;
    const open = (mode: FrontendMode) =>
      this.#frontDoors.reduce((sum, door) => (door.config.mode === mode ? sum + door.open : sum), 0);
    return {
      grpcConnections: () => ({
        ...(listeners.some(({ mode }) => mode === "grpc") ? { Proxy: open("grpc") } : {}),
        Connect: this.#agentDoor.openCalls,
      }),
      httpConnections: () => open("http-connect"),
      pendingDials: () => board.pendingDials,
      establishedTunnels: () => board.establishedTunnels,
      readyBackends: () => board.registry.readyBackends(),
      readyBackendConnections: () => board.registry.lastReadyBackends,
      fullReceiveChannels: () => ({ Connect: this.#pausedLinks() }),
      segments: () => Object.entries(this.#counters),
      agents: () => this.#agentLoads(),
      queuedBytes: () => board.budget.queuedBytes,
    };
  }

  #pausedLinks(): number {
    let paused = 0;
    for (const link of this.board.registry.links()) if (link.tunnels.readingPaused) paused++;
    return paused;
  }

  *#agentLoads(): Iterable<AgentLoad> {
    for (const link of this.board.registry.links()) {
      yield { agentId: link.identity.agentId, tunnels: link.tunnels.size, queuedBytes: link.queuedBytes };
    }
  }

  /** For the admin API. */
  describeAgents(): object[] {
    return [...this.board.registry.links()].map((link) => ({
      agentId: link.identity.agentId,
      stream: link.number,
      identifiers: link.identity.identifierText,
      remote: link.identity.remote,
      principal: link.identity.principal,
      drawbridge: link.identity.extended,
      draining: link.draining,
      tunnels: link.tunnels.size,
      pendingDials: link.pendingDials,
      queuedBytes: link.queuedBytes,
      connectedSeconds: (this.#clock.now() - link.connectedAt) / 1000,
    }));
  }

  describeTunnels(): object[] {
    const now = this.#clock.now();
    return [...this.board.registry.links()].flatMap((link) =>
      [...link.tunnels.values()].map((tunnel) => ({
        agentId: link.identity.agentId,
        connectId: String(tunnel.connectId),
        frontend: tunnel.info.frontend,
        address: tunnel.info.address,
        openSeconds: (now - tunnel.info.openedAt) / 1000,
        bytesToAgent: tunnel.bytesToFar,
        bytesToClient: tunnel.bytesToNear,
        queuedBytes: tunnel.port.queuedBytes,
      })),
    );
  }
}

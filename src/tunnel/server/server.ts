/** A proxy-server: frontends for callers, one listener for agents, the switchboard between them. */

import type { Server } from "node:net";
import { joinHostPort } from "../../base/address.js";
import { type Connections, type ListenerLimits, processConnections } from "../../base/connections.js";
import { endsDone } from "../../base/cut-socket.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { listenOn } from "../../base/listen.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { Budget } from "../connection/budget.js";
import { ClosingPhase, closingPhaseMs } from "../connection/closing-phase.js";
import { CUT_WITHIN_MS, cutTunnels } from "../connection/cut-tunnels.js";
import type { Tunnel } from "../connection/tunnel.js";
import { claimRulesRefused, claimRulesReloaded, listening, noteChannel, peerRefused } from "../events/channels.js";
import type { UnusedFiles } from "../events/facts.js";
import { FlightHistory } from "../link/flight-recorder.js";
import { GrpcStatus } from "../link/grpc-status.js";
import { createGrpcListener, type GrpcListener } from "../link/listener.js";
import { SegmentCounters } from "../link/packet-meter.js";
import type { PeerRefusal } from "../link/tls-listener.js";
import { LINK_WINDOW_BYTES, MAX_AGENT_STREAMS } from "../link/tuning.js";
import type { FollowOptions } from "../pki/followed-files.js";
import { unusedFilesOf } from "../pki/unused-files.js";
import { AgentListener } from "./agents/agent-listener.js";
import type { ClaimRules, ClaimRulesFile } from "./agents/claims.js";
import { AgentRegistry } from "./agents/registry.js";
import type { TokenAuthenticator } from "./agents/token-auth.js";
import { WatchedCertificates } from "./certificates.js";
import type { FrontendMode, ServerConfig, TlsFiles } from "./config.js";
import { createFrontend, type FrontendListener, openFrontend } from "./frontends/frontend.js";
import { Switchboard } from "./switchboard.js";
import { Watchdog } from "./watchdog/watchdog.js";

/** Parts that are loaded only when a flag asks for them, and those that tests replace. */
export interface ServerParts {
  readonly tokens?: TokenAuthenticator | undefined;
  /** Makes the claim rules, which follow their file: new rules hold for open streams too, except `countAsOne`. */
  readonly claims?:
    | ((events: FollowOptions<ClaimRules>) => Pick<ClaimRulesFile, "current" | "problem" | "check" | "close">)
    | undefined;
  readonly runtime?: Runtime;
  /** The connections that its listeners count with. Default: those of the process. */
  readonly connections?: Connections;
  /** Takes the place of the network: listeners are in the clear then, whatever the configuration says. */
  readonly listen?: (server: Server, what: string, limits: ListenerLimits) => void;
}

/** How long after it was accepted a caller is waited for that has not asked yet. */
const NEWCOMER_MS = 1_000;

const STOPPING = "the server is stopping";

/** Connections that the kernel has taken for a listener are lost when that is closed: this turn of the loop takes them in. */
async function acceptWhatWaits(runtime: Runtime): Promise<void> {
  // The first ends the present turn, the second a whole one.
  for (let turns = 0; turns < 2; turns++) await new Promise<void>((resolve) => runtime.soon(resolve));
}

export class ProxyServer {
  readonly config: ServerConfig;
  readonly board: Switchboard;
  /** Undefined when agents are not probed. */
  readonly watchdog: Watchdog | undefined;
  readonly connections: Connections;
  readonly #runtime: Runtime;
  readonly #counters = {
    from_client: new SegmentCounters(),
    to_client: new SegmentCounters(),
    from_agent: new SegmentCounters(),
    to_agent: new SegmentCounters(),
  };
  readonly #frontends: FrontendListener[] = [];
  readonly #socketRemovals: (() => void)[] = [];
  /** The certificates in force. */
  readonly certificates: WatchedCertificates[] = [];
  readonly #agents: AgentListener;
  readonly #listen: ServerParts["listen"];
  readonly #claims: ReturnType<NonNullable<ServerParts["claims"]>> | undefined;
  #agentListener: GrpcListener | undefined;
  draining = false;

  constructor(config: ServerConfig, parts: ServerParts = {}) {
    this.config = config;
    const { tls, allowUnauthenticated } = config.agents;
    if (tls.clientCaFile === "" && parts.tokens === undefined && !allowUnauthenticated) {
      const message = "agents would be admitted without a certificate or a token, and no flag asks for that.";
      throw new DrawbridgeError("DB_AGENT_AUTH_MISSING", message);
    }
    const claims = parts.claims?.({
      onChange: (rules) => this.#applyClaims(rules),
      onProblem: ({ message: error }) =>
        claimRulesRefused.publish({ source: this, file: config.agents.claimsFile, error }),
    });
    this.#claims = claims;
    this.#runtime = parts.runtime ?? systemRuntime;
    this.connections = parts.connections ?? processConnections;
    this.#listen = parts.listen;
    this.board = new Switchboard({
      source: this,
      registry: new AgentRegistry(config.strategies, this.#runtime, (host) => claims?.current.reserves(host) ?? false),
      runtime: this.#runtime,
      budget: new Budget(config.limits),
      dialTimeoutMs: config.dialTimeoutMs,
      waitForAgentMs: config.waitForAgentMs,
      flights: config.flightRecorder === false ? undefined : new FlightHistory(this.#runtime),
    });
    const { registry } = this.board;
    this.watchdog =
      config.watchdog && new Watchdog({ source: this, registry, runtime: this.#runtime, config: config.watchdog });
    this.#agents = new AgentListener({
      board: this.board,
      serverId: config.serverId,
      serverCount: config.serverCount,
      received: this.#counters.from_agent,
      sent: this.#counters.to_agent,
      tokens: parts.tokens,
      claims,
      timeBoxed: config.agents.timeBoxed,
      onRefused: this.#reporter("agents"),
    });
  }

  /** Not while it drains: whoever balances between servers should choose another. */
  get ready(): boolean {
    if (this.draining || !this.#hasAgents) return false;
    return this.config.readiness !== "path" || this.watchdog?.path().state === "ok";
  }

  get #hasAgents(): boolean {
    const { registry } = this.board;
    if (this.config.readiness === "any") return registry.strategyCounts().some(({ agents }) => agents > 0);
    if (this.config.readiness === "all") return registry.strategyCounts().every(({ agents }) => agents > 0);
    return registry.ready;
  }

  /** Why it is not ready, where there is more to say than that no agent is connected. */
  get unreadyReason(): string | undefined {
    if (this.draining) return "shutting down";
    const { registry } = this.board;
    if (this.ready || registry.size === 0) return undefined;
    if (this.#hasAgents) return "agents are connected, but the path of none is known to work";
    const counts = registry.strategyCounts();
    const empty = counts.filter(({ agents }) => agents === 0).map(({ name }) => name);
    const { readiness = "agents" } = this.config;
    const missing = readiness === "any" || readiness === "all" ? empty.join(", ") : counts[0]!.name;
    const one = registry.agents === 1;
    const who = one ? "1 agent is connected, but it lacks" : `${registry.agents} agents are connected, but they lack`;
    return `${who} the identifiers that the strategy ${missing} looks for (--readiness=${readiness})`;
  }

  /** Files that have changed since they were read, into something that cannot be used. */
  get unusedFiles(): readonly UnusedFiles[] {
    const rules = unusedFilesOf("claim rules", [this.config.agents.claimsFile], this.#claims?.problem);
    return [...this.certificates.flatMap(({ unused }) => unused), ...rules];
  }

  /** What is wrong although it is ready, for readers who are not authenticated: it names no file. */
  get readyBut(): string | undefined {
    const codes = new Set(this.unusedFiles.map(({ code }) => code));
    const files = `changed files on disk cannot be used (${[...codes].join(", ")}), the log says which`;
    return this.connections.full ?? (codes.size === 0 ? undefined : files);
  }

  /** Opens every listener, or none. */
  async start(): Promise<void> {
    try {
      await this.#openAgentListener();
      for (const listener of this.config.listeners) await this.#openFrontend(listener);
      this.watchdog?.start();
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  async #openAgentListener(): Promise<void> {
    const { agents, keepaliveMs } = this.config;
    const certificates = this.#listen === undefined ? this.#watch("agents", agents.tls) : undefined;
    const listener = createGrpcListener({
      method: "/AgentService/Connect",
      misdirectedMethods: {
        "/ProxyService/Proxy": "is a gRPC caller, and callers connect to a frontend, not to the agents' port",
      },
      runtime: this.#runtime,
      ...(certificates === undefined ? {} : { tls: certificates.context }),
      keepaliveMs,
      streamWindowBytes: LINK_WINDOW_BYTES,
      maxStreams: MAX_AGENT_STREAMS,
      onCall: (call) => this.#agents.onCall(call),
      onRefused: this.#reporter("agents"),
    });
    this.#agentListener = listener;
    if (certificates !== undefined) certificates.apply = (context) => listener.setSecureContext(context);
    const where = { host: agents.host, port: agents.port };
    const limits = this.config.pending ?? {};
    if (this.#listen === undefined) await listenOn(listener.server, "agent", where, limits, this.connections);
    else this.#listen(listener.server, "agent", limits);
    listening.publish({ source: this, what: "agents", address: joinHostPort(agents.host, agents.port) });
  }

  async #openFrontend(config: ServerConfig["listeners"][number]): Promise<void> {
    const isSecure = config.transport === "tcp" && this.#listen === undefined;
    const certificates = isSecure ? this.#watch(`${config.mode} frontend`, config.tls) : undefined;
    const frontend = createFrontend({
      board: this.board,
      config,
      keepaliveMs: this.config.frontendKeepaliveMs,
      received: this.#counters.from_client,
      sent: this.#counters.to_client,
      agentsAt: `port ${this.config.agents.port}`,
      onRefused: this.#reporter(`${config.mode} frontend`),
      ...(certificates === undefined ? {} : { tls: certificates.context }),
    });
    this.#frontends.push(frontend);
    if (certificates !== undefined) certificates.apply = (context) => frontend.setSecureContext(context);
    if (this.#listen !== undefined) {
      this.#listen(frontend.server, `${config.mode} frontend`, this.config.pending ?? {});
      return;
    }
    const { address, socket } = await openFrontend(frontend, this.config.pending ?? {}, this.connections);
    if (socket !== undefined) this.#socketRemovals.push(socket.remove);
    listening.publish({ source: this, what: `${config.mode} frontend`, address });
    if (socket?.wasServed) {
      const message = `another process was serving ${address}; new callers come to this one from now on`;
      const remedy = "Unless that process is about to end, give each server a socket path of its own.";
      noteChannel.publish({ source: this, level: "warn", message, fields: { remedy } });
    }
  }

  /** Every peer that a listener refuses is published by this, and by nothing else. */
  #reporter(listener: string): (peer: PeerRefusal) => void {
    return (peer) => peerRefused.publish({ source: this, listener, ...peer });
  }

  #watch(use: string, files: TlsFiles): WatchedCertificates {
    const watched = new WatchedCertificates(this, use, files, this.config.tlsPolicy);
    this.certificates.push(watched);
    return watched;
  }

  /** Looks at all certificate files and claim rules now. */
  checkFiles(): void {
    for (const watched of this.certificates) watched.check();
    this.#claims?.check();
  }

  /** Ends the streams of agents that the new rules do not admit: what they claimed belongs to others now. */
  #applyClaims(rules: ClaimRules): void {
    let dismissed = 0;
    for (const link of [...this.board.registry.links()]) {
      const refusal = rules.refusal(link.identity.claimant, link.identity.identifiers);
      if (refusal === undefined) continue;
      link.dismiss(GrpcStatus.PERMISSION_DENIED, `the claim rules have changed: ${refusal}`);
      dismissed++;
    }
    claimRulesReloaded.publish({ source: this, file: this.config.agents.claimsFile, dismissed });
  }

  /**
   * Refuses new callers and agents and waits until the last tunnel is done and its bytes are read, at most `limitMs`. True
   * when all were.
   * Agents that understand it are asked to look for this server's successor meanwhile. Callers that are connected already
   * have a moment to ask; afterwards every dial is refused, so that none is granted that the end of the process would cut.
   * Kept-alive connections are closed between two requests towards the end.
   */
  async drain(limitMs: number): Promise<boolean> {
    const began = this.#runtime.now();
    this.draining = true;
    this.board.leave(began + Math.min(NEWCOMER_MS, limitMs));
    this.watchdog?.stop();
    for (const removeSocket of this.#socketRemovals) removeSocket();
    this.#agentListener?.server.close();
    this.#agents.askToLeave();
    await acceptWhatWaits(this.#runtime);
    for (const frontend of this.#frontends) frontend.drain();
    const endsAt = began + limitMs;
    let closingPhase: ClosingPhase | undefined;
    while (this.#busy && this.#runtime.now() < endsAt) {
      if (this.board.refuses) this.#agents.releaseIdle();
      if (this.#runtime.now() >= endsAt - closingPhaseMs(limitMs)) closingPhase ??= this.#beginClosing(endsAt);
      await new Promise<void>((resolve) => this.#runtime.after(50, resolve));
    }
    this.board.leave(Number.NEGATIVE_INFINITY);
    closingPhase?.end();
    this.#reportDrain(closingPhase?.closed ?? 0);
    return !this.#busy && (await this.#endLinks(Math.max(0, endsAt - this.#runtime.now())));
  }

  #beginClosing(endsAt: number): ClosingPhase {
    return new ClosingPhase({
      tunnels: () => this.#tunnels(),
      runtime: this.#runtime,
      endsAt,
      reason: "closed between two requests: this server is about to end",
    });
  }

  #tunnels(): Tunnel[] {
    return [...this.board.registry.links()].flatMap((link) => [...link.tunnels.values()]);
  }

  #reportDrain(closedBetweenRequests: number): void {
    const cut = this.board.establishedTunnels;
    const fields = { closedBetweenRequests, cut };
    if (this.#busy) {
      const message = "tunnels were still open at the end of the graceful shutdown and are cut";
      noteChannel.publish({ source: this, level: "warn", message, fields });
    } else if (closedBetweenRequests > 0) {
      const message = "tunnels that did not end by themselves were closed between two requests";
      noteChannel.publish({ source: this, level: "info", message, fields });
    }
  }

  /** Bytes of tunnels that have ended may still be on their way to a caller or an agent. */
  get #busy(): boolean {
    const { establishedTunnels, pendingDials } = this.board;
    if (establishedTunnels > 0 || pendingDials > 0) return true;
    for (const frontend of this.#frontends) if (this.#hasNewcomers(frontend)) return true;
    return this.#flushing;
  }

  get #flushing(): boolean {
    for (const frontend of this.#frontends) if (frontend.flushing) return true;
    for (const link of this.board.registry.links()) if (link.stream.queuedBytes > 0) return true;
    return false;
  }

  #hasNewcomers(frontend: FrontendListener): boolean {
    if (this.board.refuses) return false;
    return frontend.hasNewcomers(NEWCOMER_MS) || this.connections.hasNewcomers(frontend.server, NEWCOMER_MS);
  }

  /** Ends at once, except that both ends of every tunnel learn, within a second or two, that it is cut. */
  async stop(): Promise<void> {
    this.board.leave(Number.NEGATIVE_INFINITY);
    for (const frontend of this.#frontends) frontend.drain();
    await cutTunnels(this.#tunnels(), STOPPING, this.#runtime, () => this.#flushing);
    await this.#endLinks(CUT_WITHIN_MS);
    this.destroy();
  }

  /** Bytes that the kernel has are not yet at agents and callers: whether all have read everything within this. */
  async #endLinks(withinMs: number): Promise<boolean> {
    for (const frontend of this.#frontends) frontend.end?.();
    for (const link of [...this.board.registry.links()]) link.dismiss(GrpcStatus.UNAVAILABLE, STOPPING);
    this.#agentListener?.drain();
    return await endsDone(this.#runtime, withinMs);
  }

  destroy(): void {
    this.watchdog?.stop();
    for (const removeSocket of this.#socketRemovals) removeSocket();
    for (const frontend of this.#frontends) frontend.destroy();
    for (const link of [...this.board.registry.links()]) link.dismiss(GrpcStatus.UNAVAILABLE, STOPPING);
    this.#agentListener?.destroy();
    for (const watched of this.certificates) watched.close();
    this.#claims?.close();
  }

  /** The values that metrics read at a scrape. None of them is maintained for metrics alone. */
  readings() {
    const { board, watchdog } = this;
    const { listeners } = this.config;
    const links = () => [...board.registry.links()];
    const open = (mode: FrontendMode) =>
      this.#frontends.reduce((sum, frontend) => (frontend.config.mode === mode ? sum + frontend.open : sum), 0);
    return {
      /** Open RPCs. Upstream does not export a service method that the process cannot serve either. */
      grpcConnections: (): { Proxy?: number; Connect: number } => ({
        ...(listeners.some(({ mode }) => mode === "grpc") ? { Proxy: open("grpc") } : {}),
        Connect: this.#agents.openCalls,
      }),
      /** CONNECT requests in progress, established tunnels included. */
      httpConnections: () => open("http-connect"),
      pendingDials: () => board.pendingDials,
      /** Of those, the ones for which there is no agent yet. */
      waitingDials: () => board.waiting.size,
      establishedTunnels: () => board.establishedTunnels,
      readyBackends: () => board.registry.readyBackends(),
      strategyCounts: () => board.registry.strategyCounts(),
      readyBackendConnections: () => board.registry.lastReadyBackends,
      /** Streams that are paused because what they sent has not been handled yet. */
      fullReceiveChannels: () => ({ Connect: links().filter(({ tunnels }) => tunnels.readingPaused).length }),
      frontendWrites: board.frontendWrites,
      /** The same segment may come up several times; the counts are added. */
      segments: () => Object.entries(this.#counters),
      /** One entry per agent stream; streams of the same agent are added up. */
      agents: () =>
        links().map(({ identity: { agentId }, tunnels, stream: { queuedBytes } }) => {
          return { agentId, tunnels: tunnels.size, queuedBytes };
        }),
      queuedBytes: () => board.budget.queuedBytes,
      /** The state of every agent's path; undefined without a watchdog. */
      paths: watchdog && (() => links().map((link) => watchdog.pathOf(link).state)),
    };
  }

  /** Payload that crossed the links to agents since the start. */
  get traffic(): { readonly toAgents: number; readonly fromAgents: number } {
    const { to_agent, from_agent } = this.#counters;
    return { toAgents: to_agent.payloadBytes, fromAgents: from_agent.payloadBytes };
  }
}

/** A proxy-agent: connections to its servers, and what they ask it to open. */

import { pause } from "../../base/clock.js";
import { endsDone } from "../../base/cut-socket.js";
import type { Cause } from "../../base/errors/error.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { Budget } from "../connection/budget.js";
import { closingPhaseMs } from "../connection/closing-phase.js";
import { CUT_WITHIN_MS } from "../connection/cut-tunnels.js";
import { untilDate } from "../connection/until-date.js";
import { agentDraining, agentServerDisconnected, noteChannel, streamError } from "../events/channels.js";
import { type Features, OUR_FEATURES } from "../link/features.js";
import { FlightHistory } from "../link/flight-recorder.js";
import { goCodeName } from "../link/grpc-status.js";
import { SegmentCounters } from "../link/packet-meter.js";
import { PacketStream } from "../link/packet-stream.js";
import { keepAlive } from "../link/tuning.js";
import { type Lookups, Resolver } from "../resolver/resolver.js";
import type { AgentConfig } from "./config.js";
import {
  type ConnectParts,
  certificateEnd,
  connectOnce,
  connectToServer,
  pauseReason,
  pingInterval,
  type ServerConnection,
} from "./connect.js";
import { DestinationPolicy } from "./policy.js";
import { ServerLink } from "./server-link.js";
import { ServerSet } from "./server-set.js";

export interface AgentParts {
  readonly runtime?: Runtime;
  /** The program's name and version, which servers see as its user agent. */
  readonly program?: string;
  readonly resolver?: Lookups;
  /** Opens the connection to a server. Default: TCP and TLS, through the proxy of the environment where one is set. */
  readonly reach?: ConnectParts["reach"];
  /** What it tells servers that it can do. Default: all that this program can. */
  readonly features?: Features;
  /** The token that it shows to servers. Default: what the configured file holds at that moment, if there is one. */
  readonly token?: () => string | undefined;
  /** Servers as counted by other means than what servers say, e.g. by their leases; undefined until that is known. */
  readonly countServers?: () => number | undefined;
}

/** Longer than a server that drains takes callers. */
const LEAVE_AFTER_MS = 2_000;

const IDLE_CHECK_MS = 200;

const STOPPING = "the agent is stopping";

export class ProxyAgent {
  readonly config: AgentConfig;
  readonly runtime: Runtime;
  readonly #budget: Budget;
  readonly policy: DestinationPolicy;
  readonly resolver: Lookups;
  readonly #received = new SegmentCounters();
  readonly #sent = new SegmentCounters();
  readonly #servers: ServerSet;
  /** All links with tunnels, those of servers that are going away included. */
  readonly #links = new Set<ServerLink>();
  /** Called once there is none. */
  readonly #untilUnlinked: (() => void)[] = [];
  #connectIds = 0;
  #connections = 0;
  draining = false;
  #running: Promise<void> | undefined;
  /** The last packets of every link; undefined: nobody remembers them. */
  readonly flights: FlightHistory | undefined;

  constructor(config: AgentConfig, parts: AgentParts = {}) {
    const { runtime = systemRuntime, program = "drawbridge", countServers, token } = parts;
    // The system's files are read at once: later there may be no descriptor left to read them with.
    const { resolver = new Resolver().prepare() } = parts;
    const { features = OUR_FEATURES } = parts;
    const { reach = (server) => connectToServer(server, config.tls, process.env, this.resolver, runtime) } = parts;
    this.config = config;
    this.resolver = resolver;
    this.runtime = runtime;
    this.flights = config.flightRecorder === false ? undefined : new FlightHistory(runtime);
    this.#budget = new Budget(config.limits);
    this.policy = new DestinationPolicy(config.allow, config.deny);
    this.#servers = new ServerSet({
      source: this,
      config,
      runtime,
      ...(countServers === undefined ? {} : { countServers }),
      connect: (server, connected) =>
        connectOnce(config, server, connected, { program, runtime, reach, features, token }),
      adopt: (connection, address) => this.#adopt(connection, address),
      ...(config.timeBoxed ? { pauseReason: () => pauseReason(config.tls.certFile, runtime.date()) } : {}),
    });
  }

  /** All links with tunnels, those of servers that are going away included. */
  links(): IterableIterator<ServerLink> {
    return this.#links.values();
  }

  /** Payload that crossed the links to servers since the start. */
  get traffic(): { readonly toServers: number; readonly fromServers: number } {
    return { toServers: this.#sent.payloadBytes, fromServers: this.#received.payloadBytes };
  }

  get ready(): boolean {
    return this.#servers.size > 0 && this.missingServers === undefined;
  }

  /** How many are connected, where that is some but not enough. */
  get missingServers(): string | undefined {
    const { size, wanted } = this.#servers;
    const isEnough = this.config.readyWith !== "all" || size === 0 || size >= wanted;
    return isEnough ? undefined : `${size} of ${wanted} servers connected (--ready-with=all)`;
  }

  /** Why it is not ready, where there is more to say than that no server is connected. */
  get unreadyReason(): string | undefined {
    return [this.missingServers, this.#servers.failure].filter((each) => each !== undefined).join(": ") || undefined;
  }

  /** The same, for scripts. */
  get unreadyCauses(): readonly Cause[] {
    return this.#servers.causes;
  }

  /** Nothing open and nothing being opened. */
  get idle(): boolean {
    return [...this.#links].every((link) => link.idle);
  }

  start(): void {
    this.#running = this.#servers.run();
  }

  /** Asks the servers to prefer other agents; everything goes on as it was. */
  drain(): void {
    if (this.draining) return;
    this.draining = true;
    this.#servers.drain();
    for (const link of this.#links) link.drain();
    agentDraining.publish({ source: this });
  }

  /**
   * After drain(): waits until nothing is open, at most `limitMs`, and resolves to the number of tunnels that are left.
   * Servers are told when the end is near, so that they close kept-alive connections between two requests.
   */
  async drained(limitMs: number): Promise<number> {
    const endsAt = this.runtime.now() + limitMs;
    let tellsAt = endsAt - closingPhaseMs(limitMs);
    // Dials that the server sent before it learnt of the drain still arrive.
    do {
      const now = this.runtime.now();
      if (now >= tellsAt) {
        tellsAt = Number.POSITIVE_INFINITY;
        for (const link of this.#links) link.drain();
      }
      await pause(this.runtime, Math.min(IDLE_CHECK_MS, tellsAt - now, endsAt - now));
    } while (!this.idle && this.runtime.now() < endsAt);
    if (this.idle) await this.#leave(endsAt);
    return this.readings().openEndpointConnections();
  }

  /** Both ends of every tunnel learn, within a second or two, that it is cut. */
  async stop(): Promise<void> {
    this.#servers.stop();
    for (const { tunnels } of this.#links) for (const tunnel of [...tunnels.values()]) tunnel.close(STOPPING, "cut");
    await this.#leave(this.runtime.now() + CUT_WITHIN_MS);
  }

  /** Ends every link, so that its server has read everything, and waits for the last bytes towards endpoints, too. */
  async #leave(endsAt: number): Promise<void> {
    this.#servers.stop();
    for (const link of this.#links) link.leave(STOPPING);
    await this.#running;
    const leftMs = (): number => Math.max(0, endsAt - this.runtime.now());
    const late = (): void => {
      for (const link of this.#links) link.cancel(STOPPING);
    };
    const cancelLate = this.runtime.after(leftMs(), late, true);
    if (this.#links.size > 0) await new Promise<void>((resolve) => this.#untilUnlinked.push(resolve));
    cancelLate();
    await endsDone(this.runtime, leftMs());
  }

  #adopt(connection: ServerConnection, address: string): ServerLink {
    const { session, stream, serverId } = connection;
    const { extended, echo } = connection.features;
    const number = ++this.#connections;
    const link = new ServerLink({
      ...{ source: this, number, serverId, address, echo },
      ...{ budget: this.#budget, runtime: this.runtime, policy: this.policy, resolver: this.resolver },
      nextConnectId: () => ++this.#connectIds,
      openStream: (owner) =>
        new PacketStream(stream, owner, {
          ...{ received: this.#received, sent: this.#sent, extended },
          observer: this.flights?.open(number, serverId),
        }),
      onClosed: (end) => {
        endTimeBox?.();
        this.#links.delete(link);
        if (this.#links.size === 0) for (const done of this.#untilUnlinked.splice(0)) done();
        this.flights?.close(number);
        this.#servers.forget(link);
        session.close();
        if (end.status !== 0) {
          const code = goCodeName(end.status);
          streamError.publish({ source: this, segment: "to_agent", code, packetType: "Unknown" });
        }
        agentServerDisconnected.publish({ source: this, serverId, address, reason: end.reason });
      },
    });
    const end = this.config.timeBoxed ? certificateEnd(this.config.tls.certFile) : undefined;
    const endTimeBox = end && untilDate(this.runtime, end, () => link.cancel("this agent's certificate has ended"));
    this.#links.add(link);
    // Once the link is counted: what has come behind the headers may be the end of it.
    this.runtime.next(() => stream.resume());
    keepAlive(session, pingInterval(this.config.keepaliveMs, extended), () =>
      noteChannel.publish({
        source: this,
        level: "warn",
        message: "the server answers no pings",
        fields: { serverId, address },
      }),
    );
    // Measures the round trip. Upstream's servers count pings that come too soon.
    if (extended) session.ping(() => {});
    // The server is leaving: look for its successor, but let open tunnels finish.
    const leave = (): void => {
      link.leaving = true;
      this.#servers.leaveSoon(link);
      // Dials that were on their way, or come of callers that had connected by then, are still to be served.
      this.runtime.after(LEAVE_AFTER_MS, () => {
        if (link.idle) link.leave("the server is shutting down");
      });
    };
    if (session.closing) this.runtime.next(leave);
    else session.once("goaway", leave);
    return link;
  }

  /** The values that metrics read at a scrape. */
  readings() {
    return {
      openServerConnections: () => this.#servers.size,
      knownServerCount: () => this.#servers.wanted,
      openEndpointConnections: () => [...this.#links].reduce((sum, link) => sum + link.tunnels.size, 0),
      segments: (): [string, SegmentCounters][] => [
        ["to_agent", this.#received],
        ["from_agent", this.#sent],
      ],
      queuedBytes: () => this.#budget.queuedBytes,
    };
  }
}

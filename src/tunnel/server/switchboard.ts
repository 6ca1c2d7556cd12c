/** Connects callers with agents: both kinds of frontend start dials here, and every agent stream reports here. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.js";
import { DurationCounts } from "../../base/metrics/histogram.js";
import type { Budget } from "../connection/budget.js";
import type { Tunnel } from "../connection/tunnel.js";
import {
  serverAgentConnected,
  serverAgentDisconnected,
  serverDialEnded,
  serverRefused,
  serverTunnelClosed,
  streamError,
} from "../events/channels.js";
import type { ServerDialOutcome } from "../events/events.js";
import type { ChoiceExplanation } from "../events/facts.js";
import { LATENCY_BUCKETS } from "../events/readings.js";
import type { FlightHistory } from "../link/flight-recorder.js";
import { goCodeName } from "../link/grpc-status.js";
import type { PacketStream, StreamEnd } from "../link/packet-stream.js";
import type { ConnectId } from "../wire/packet.js";
import { type AgentConnection, type AgentIdentity, AgentLink } from "./agents/agent-link.js";
import { explainChoice } from "./agents/explanation.js";
import type { AgentRegistry } from "./agents/registry.js";
import { type Caller, Dial } from "./dial.js";

export interface SwitchboardOptions {
  /** Identity of the server in events. */
  readonly source: object;
  readonly registry: AgentRegistry;
  readonly clock: Clock;
  readonly budget: Budget;
  /** 0: no deadline. */
  readonly dialTimeoutMs: number;
  /** The last packets of every agent's link; undefined: nobody remembers them. */
  readonly flights?: FlightHistory | undefined;
}

export class Switchboard {
  readonly source: object;
  readonly registry: AgentRegistry;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly dialTimeoutMs: number;
  readonly flights: FlightHistory | undefined;
  /** How long the bytes of one turn took to be handed to frontends. */
  readonly frontendWrites = new DurationCounts(LATENCY_BUCKETS);
  pendingDials = 0;
  establishedTunnels = 0;
  #streams = 0;
  #dials = 0;

  constructor(options: SwitchboardOptions) {
    this.source = options.source;
    this.registry = options.registry;
    this.clock = options.clock;
    this.budget = options.budget;
    this.dialTimeoutMs = options.dialTimeoutMs;
    this.flights = options.flights;
  }

  // ---- callers -----------------------------------------------------------------------------------------------------

  dial(caller: Caller): Dial {
    const dial = new Dial(this, caller, ++this.#dials);
    this.pendingDials++;
    dial.start();
    return dial;
  }

  dialEnded(
    dial: Dial,
    link: AgentLink | undefined,
    outcome: ServerDialOutcome,
    error: string,
    connectId?: ConnectId,
    referenceId?: string,
  ): void {
    this.pendingDials--;
    if (outcome === "established") this.establishedTunnels++;
    const { address } = dial;
    const { frontend, dialId } = dial.caller;
    serverDialEnded.publish({
      source: this.source,
      dial,
      frontend,
      address,
      dialId,
      outcome,
      error,
      durationMs: this.clock.now() - dial.startedAt,
      ...(link === undefined ? {} : { agentId: link.identity.agentId }),
      ...(connectId === undefined ? {} : { connectId }),
      ...(referenceId === undefined ? {} : { referenceId }),
    });
  }

  /** Upstream's own words first, since peers match on them; then counts and an id; the reasons stay with the operator. */
  explainNoAgent(address: string, tried: readonly AgentLink[]): { referenceId: string; text: string } {
    const referenceId = randomBytes(4).toString("hex");
    const explanation = this.explainChoice(address, tried);
    serverRefused.publish({ source: this.source, referenceId, address, explanation });
    const connected = explanation.agentsConnected;
    const text = `No agent available (${connected} connected, none for this destination; reference ${referenceId})`;
    return { referenceId, text };
  }

  /** `tried`: who was asked to dial, when the dial has failed. */
  explainChoice(address: string, tried?: readonly AgentLink[]): ChoiceExplanation {
    return explainChoice(this.registry, address, tried, this.clock.now());
  }

  // ---- agents ------------------------------------------------------------------------------------------------------

  /** `openStream` makes the link's stream of packets; `number` is the server's own for it. */
  newAgentLink(
    identity: AgentIdentity,
    connection: AgentConnection,
    openStream: (link: AgentLink, number: number) => PacketStream,
  ): AgentLink {
    return new AgentLink(++this.#streams, identity, connection, this, openStream);
  }

  agentConnected(link: AgentLink): void {
    this.registry.add(link);
    const { agentId, identifierText, remote, extended, principal } = link.identity;
    serverAgentConnected.publish({
      source: this.source,
      agentId,
      identifiers: identifierText,
      stream: link.number,
      remote,
      drawbridge: extended,
      ...(principal === "" ? {} : { principal }),
    });
  }

  agentDisconnected(link: AgentLink, end: StreamEnd): void {
    this.registry.remove(link);
    this.flights?.close(link.number);
    if (end.status !== 0) {
      const code = goCodeName(end.status);
      streamError.publish({ source: this.source, segment: "from_agent", code, packetType: "Unknown" });
    }
    const { agentId } = link.identity;
    serverAgentDisconnected.publish({ source: this.source, agentId, stream: link.number, reason: end.reason });
  }

  onTunnelFinished(link: AgentLink, tunnel: Tunnel, reason: string): void {
    this.establishedTunnels--;
    serverTunnelClosed.publish({
      source: this.source,
      link,
      tunnel,
      frontend: tunnel.info.frontend!,
      address: tunnel.info.address,
      agentId: link.identity.agentId,
      connectId: tunnel.connectId,
      durationMs: this.clock.now() - tunnel.info.openedAt,
      bytesToAgent: tunnel.bytesToFar,
      bytesToClient: tunnel.bytesToNear,
      reason,
    });
  }
}

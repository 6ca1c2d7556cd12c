/** Connects callers with agents: both kinds of frontend start dials here, and every agent stream reports here. */
import { DurationCounts } from "../../base/metrics/registry.js";
import type { Runtime } from "../../base/runtime.js";
import type { Budget } from "../connection/budget.js";
import type { Tunnel } from "../connection/tunnel.js";
import {
  agentProbed,
  noteChannel,
  serverAgentConnected,
  serverAgentDisconnected,
  serverDialEnded,
  serverRefused,
  serverTunnelClosed,
  streamError,
} from "../events/channels.js";
import type { ChoiceExplanation } from "../events/facts.js";
import type { FlightHistory } from "../link/flight-recorder.js";
import { goCodeName } from "../link/grpc-status.js";
import type { PacketStream, StreamEnd } from "../link/packet-stream.js";
import { foundAgent } from "../wire/destination.js";
import { type AgentIdentity, AgentLink } from "./agents/agent-link.js";
import { statusOf } from "./agents/choice.js";
import type { AgentRegistry } from "./agents/registry.js";
import { type Caller, Dial, type DialEnd } from "./dial.js";
import { WaitingDials } from "./waiting-dials.js";

/** More would make a log line nobody reads. */
const EXPLAINED_AGENTS = 20;

/** Upper bounds in seconds, as upstream has them. */
export const LATENCY_BUCKETS: readonly number[] = [1e-6, 1e-5, 1e-4, 0.005, 0.025, 0.1, 0.5, 2.5, 12.5];

export interface SwitchboardOptions
  extends Pick<Switchboard, "source" | "registry" | "runtime" | "budget" | "dialTimeoutMs" | "flights"> {
  /** How long a dial waits for an agent. Default 0: not at all. */
  readonly waitForAgentMs?: number | undefined;
}

export class Switchboard {
  /** Identity of the server in events. */
  readonly source: object;
  readonly registry: AgentRegistry;
  readonly runtime: Runtime;
  readonly budget: Budget;
  /** 0: no deadline. */
  readonly dialTimeoutMs: number;
  /** The last packets of every agent's link; undefined: nobody remembers them. */
  readonly flights?: FlightHistory | undefined;
  /** How long the bytes of one turn took to be handed to frontends. */
  readonly frontendWrites = new DurationCounts(LATENCY_BUCKETS);
  pendingDials = 0;
  establishedTunnels = 0;
  /** Dials for which there is no agent yet. */
  readonly waiting: WaitingDials<Dial>;
  /** From then on no dial is granted: this server is about to end, and would cut it. */
  #refusesFrom = Number.POSITIVE_INFINITY;
  #streams = 0;
  #dials = 0;

  constructor(options: SwitchboardOptions) {
    this.source = options.source;
    this.registry = options.registry;
    this.runtime = options.runtime;
    this.budget = options.budget;
    this.dialTimeoutMs = options.dialTimeoutMs;
    this.flights = options.flights;
    const { dialTimeoutMs, waitForAgentMs = 0 } = options;
    this.waiting = new WaitingDials(
      options.runtime,
      dialTimeoutMs === 0 ? waitForAgentMs : Math.min(waitForAgentMs, dialTimeoutMs),
      (level, message) => noteChannel.publish({ source: this.source, level, message }),
    );
  }

  // ---- callers -----------------------------------------------------------------------------------------------------

  dial(caller: Caller): Dial {
    const dial = new Dial(this, caller, ++this.#dials);
    this.pendingDials++;
    dial.start();
    return dial;
  }

  get refuses(): boolean {
    return this.runtime.now() >= this.#refusesFrom;
  }

  /** This server is about to end: no agent will come, and from that time on no dial is granted. */
  leave(refusesFrom: number): void {
    this.#refusesFrom = refusesFrom;
    this.waiting.giveUpAll();
  }

  get isLeaving(): boolean {
    return this.#refusesFrom !== Number.POSITIVE_INFINITY;
  }

  dialEnded(dial: Dial, end: DialEnd): void {
    this.pendingDials--;
    if (end.outcome === "established") this.establishedTunnels++;
    const { address, link, startedAt, waitedMs } = dial;
    const { frontend, dialId } = dial.caller;
    const durationMs = this.runtime.now() - startedAt - waitedMs;
    const waited = waitedMs === 0 ? {} : { waitedMs };
    const agent = link === undefined ? {} : { agentId: link.identity.agentId };
    const { source } = this;
    if (end.outcome === "error_response" && foundAgent(dialId, address, end.error)) {
      agentProbed.publish({ source, address, durationMs, ...agent });
    } else
      serverDialEnded.publish({ source, dial, frontend, address, dialId, durationMs, ...waited, ...agent, ...end });
  }

  /** Upstream's own words first, since peers match on them; then counts and an id; the reasons stay with the operator. */
  explainNoAgent(
    address: string,
    tried: readonly AgentLink[],
    waitedMs = 0,
  ): { readonly referenceId: string; readonly text: string } {
    const referenceId = this.runtime.randomBytes(4).toString("hex");
    const wait =
      waitedMs > 0 ? `waited ${(waitedMs / 1000).toFixed(1)} s for one` : (this.waiting.givenUp ?? this.waiting.full);
    const explanation = { ...this.explainChoice(address, tried), ...(wait === undefined ? {} : { wait }) };
    serverRefused.publish({ source: this.source, referenceId, address, explanation });
    const connected = explanation.agentsConnected;
    const counts = `${connected} connected, none for this destination`;
    const why = [counts, ...(wait === undefined ? [] : [wait]), `reference ${referenceId}`].join("; ");
    const text = `No agent available (${why})`;
    return { referenceId, text };
  }

  /**
   * Why nobody took a dial, or who would: for the log and the admin API, never for the caller. `tried` are the streams that
   * were asked to dial, when the dial has failed; undefined: nobody has dialled.
   */
  explainChoice(address: string, tried?: readonly AgentLink[]): ChoiceExplanation {
    const { host, isReserved, strategies } = this.registry.matchesFor(address);
    const links = [...this.registry.links()];
    const now = this.runtime.now();
    const isMatch = (link: AgentLink) =>
      strategies.some(({ candidates }) => candidates.some((candidate) => candidate.links.includes(link)));
    const passedOver = (link: AgentLink): string => {
      if (tried?.includes(link)) return "its dial failed and was not tried there again";
      if (isMatch(link))
        return tried === undefined ? "it matches" : "it matches, but the dial was over before its turn";
      if (isReserved) return "the host is reserved for agents that claim it, and it does not";
      return "no strategy matches its identifiers with this host";
    };
    return {
      address,
      host,
      agentsConnected: links.length,
      strategies: strategies.map(({ name, keys, candidates }) => ({ name, keys, matches: candidates.length })),
      considered: links.slice(0, EXPLAINED_AGENTS).map((link) => ({
        agentId: link.identity.agentId,
        stream: link.number,
        identifiers: link.identity.identifierText,
        status: statusOf(link, now),
        load: link.load,
        passedOver: passedOver(link),
      })),
    };
  }

  // ---- agents ------------------------------------------------------------------------------------------------------

  /** `openStream` makes the link's stream of packets; `number` is the server's own for it. */
  addAgent(
    identity: AgentIdentity,
    connection: AgentLink["connection"],
    openStream: (link: AgentLink, number: number) => PacketStream,
  ): AgentLink {
    const link = new AgentLink(++this.#streams, identity, connection, this, openStream);
    this.registry.add(link);
    const { agentId, identifierText, remote, extended, principal, claimant } = identity;
    serverAgentConnected.publish({
      source: this.source,
      agentId,
      identifiers: identifierText,
      stream: link.number,
      remote,
      drawbridge: extended,
      ...(principal === "" ? {} : { principal }),
      ...(claimant.subject === "" || claimant.subject === principal ? {} : { subject: claimant.subject }),
    });
    this.waiting.agentCame();
    return link;
  }

  agentDisconnected(link: AgentLink, end: StreamEnd): void {
    this.registry.remove(link);
    this.waiting.agentsChanged();
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
    const { connectId, info } = tunnel;
    serverTunnelClosed.publish({
      ...{ source: this.source, link, tunnel, frontend: info.frontend!, address: info.address, connectId },
      agentId: link.identity.agentId,
      durationMs: this.runtime.now() - info.openedAt,
      bytesToAgent: tunnel.bytesToFar,
      bytesToClient: tunnel.bytesToNear,
      reason,
    });
  }
}

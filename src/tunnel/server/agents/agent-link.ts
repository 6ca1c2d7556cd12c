/** One agent stream as the server sees it: its tunnels, its pending dials, what it said about itself. */
import { ShortLivedMap } from "../../../base/short-lived.js";
import { ClosingPhase, closingPhaseMs } from "../../connection/closing-phase.js";
import { TunnelTable } from "../../connection/table.js";
import { noteChannel, serverAgentDraining, serverDialEnded, tunnelCut } from "../../events/channels.js";
import type { Session } from "../../link/open.js";
import type { PacketStream, StreamEnd, StreamOwner } from "../../link/packet-stream.js";
import type { Identifiers } from "../../wire/identifiers.js";
import type { ConnectId, ControlPacket, DialId } from "../../wire/packet.js";
import type { Dial } from "../dial.js";
import type { Switchboard } from "../switchboard.js";
import { PathProbe } from "../watchdog/path-probe.js";
import type { AgentGroup } from "./choice.js";
import type { Principal } from "./claims.js";

/** An agent that has just answered is not pinged again, or others could keep it unconfirmed all the time. */
const SIGN_OF_LIFE_MS = 10_000;

/** Enough for the connections that can have bytes in flight; older ones are answered as unknown again, which is safe. */
const MAX_CLOSING = 4096;

export interface AgentIdentity {
  readonly agentId: string;
  readonly identifiers: Identifiers;
  /** The identifiers as sent, for display. */
  readonly identifierText: string;
  readonly remote: string;
  /** The name in the certificate or token; empty when none was asked for. */
  readonly principal: string;
  /** Both ends are drawbridge. */
  readonly extended: boolean;
  /** The agent has an echo that the watchdog may dial. */
  readonly echo: boolean;
  /** Its user agent; empty when it sends none. */
  readonly program: string;
  /** The principal with all its parts, for the claim rules. */
  readonly claimant: Principal;
  /** Streams with the same key are one agent in the choice. */
  readonly groupKey: string;
}

export class AgentLink implements StreamOwner {
  /** The server's own number for this stream: an agentID is only what a peer claims. */
  readonly number: number;
  readonly identity: AgentIdentity;
  /** The connection below the stream; others may share it. */
  readonly connection: Pick<Session, "ping">;
  readonly stream: PacketStream;
  /** The agent that it belongs to in the choice; set by the registry. */
  group!: AgentGroup;
  readonly tunnels: TunnelTable;
  readonly connectedAt: number;
  /** The watchdog's; undefined when the agent has no echo. */
  readonly probe: PathProbe | undefined;
  draining = false;
  /** Not preferred before this time: recent dials failed for reasons of the agent's own. */
  demotedUntil = 0;
  /** Failures of its own in a row. */
  ownFailures = 0;
  /** A newer stream of the same agent came or a dial was not answered, and this one's peer has not answered a ping since. */
  unconfirmed = false;

  readonly #board: Switchboard;
  /** When the agent itself said first that it drains. */
  #drainsSince: number | undefined;
  #closingPhase: ClosingPhase | undefined;
  /** Tunnels that it closed with an error, since its drain is about to end. */
  #cutByAgent = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  readonly #pending = new ShortLivedMap<DialId, Dial>();
  /** Connection numbers that were closed here and whose last packets may still arrive: they are no protocol errors. */
  readonly #closing = new Set<ConnectId>();

  constructor(
    number: number,
    identity: AgentIdentity,
    connection: Pick<Session, "ping">,
    board: Switchboard,
    openStream: (link: AgentLink, number: number) => PacketStream,
  ) {
    this.number = number;
    this.identity = identity;
    this.connection = connection;
    this.#board = board;
    const { budget, runtime } = board;
    this.connectedAt = runtime.now();
    this.stream = openStream(this, number);
    this.tunnels = new TunnelTable({
      ...{ carrier: this.stream, budget, clock: runtime },
      closeWith: "CLOSE_REQ",
      pendingDials: () => this.#pending.size,
      onFinished: (tunnel, reason) => {
        this.#closing.add(tunnel.connectId);
        if (this.#closing.size > MAX_CLOSING) this.#closing.delete(this.#closing.keys().next().value!);
        if (tunnel.info.isProbe !== true) board.onTunnelFinished(this, tunnel, reason);
      },
      onCut: ({ info: { address }, connectId }, queuedBytes) => {
        const reason = `the caller did not read while agent ${identity.agentId}, which knows no window, went on sending`;
        tunnelCut.publish({ source: board.source, code: "DB_SLOW_READER", address, connectId, queuedBytes, reason });
      },
    });
    this.probe = identity.echo ? new PathProbe(this.stream, this.tunnels, runtime) : undefined;
  }

  /** Open and pending tunnels: what the choice among agents compares. */
  get load(): number {
    return this.tunnels.size + this.#pending.size;
  }

  get pendingDials(): number {
    return this.#pending.size;
  }

  dials(): IterableIterator<Dial> {
    return this.#pending.values();
  }

  /** Pings the peer. Until it answers, others are preferred. */
  confirmAlive(): void {
    const now = this.#board.runtime.now();
    if (this.unconfirmed || now - this.#askedAt < SIGN_OF_LIFE_MS) return;
    this.unconfirmed = true;
    this.#askedAt = now;
    this.connection.ping(() => {
      this.unconfirmed = false;
    });
  }

  /** New dials go elsewhere while there is an elsewhere. */
  drain(): void {
    if (this.draining) return;
    this.draining = true;
    const { agentId } = this.identity;
    serverAgentDraining.publish({ source: this.#board.source, agentId, stream: this.number });
  }

  /**
   * The first time the agent asks for others to be preferred. One that has a deadline asks again in the middle of its
   * drain, or 5 s before the end, whichever is later: how much time it has left follows from what has passed.
   */
  #onDrain(): void {
    this.drain();
    const { runtime } = this.#board;
    const now = runtime.now();
    if (this.#drainsSince === undefined) this.#drainsSince = now;
    else if (this.#closingPhase === undefined) {
      this.#cutByAgent = 0;
      this.#closingPhase = new ClosingPhase({
        tunnels: () => this.tunnels.values(),
        runtime,
        endsAt: now + closingPhaseMs(2 * (now - this.#drainsSince)),
        reason: "closed between two requests: its agent is about to end",
      });
    }
  }

  /** What became of the tunnels of an agent that ended after its drain. */
  #reportClosingPhase({ closed }: ClosingPhase): void {
    const cut = this.tunnels.size + this.#cutByAgent;
    if (closed + cut === 0) return;
    noteChannel.publish({
      source: this.#board.source,
      level: cut === 0 ? "info" : "warn",
      message: "an agent that drained has ended, and its last tunnels were closed between two requests or cut",
      fields: { agentId: this.identity.agentId, stream: this.number, closedBetweenRequests: closed, cut },
    });
  }

  get extended(): boolean {
    return this.identity.extended;
  }

  /** Ends the stream, and with it every tunnel; the agent reads why. */
  dismiss(status: number, reason: string): void {
    this.stream.fail(status, reason);
  }

  /** Ends the connection below it, for an agent that does not even read that it was dismissed. */
  disconnect(): void {
    this.stream.destroySession();
  }

  // ---- dials -------------------------------------------------------------------------------------------------------

  /** False when this dial ID is in use on this link. */
  dial(dialId: DialId, protocol: string, address: string, dial: Dial): boolean {
    if (this.#pending.has(dialId)) return false;
    this.#pending.set(dialId, dial);
    this.stream.control({ type: "DIAL_REQ", protocol, address, random: dialId });
    return true;
  }

  /** The caller no longer wants it: agents that honour DIAL_CLS stop dialling, from others a late answer is closed. */
  cancelDial(dialId: DialId): void {
    if (this.#pending.delete(dialId)) this.stream.control({ type: "DIAL_CLS", random: dialId });
  }

  // ---- StreamOwner: what comes from the agent ----------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    const tunnel = this.tunnels.get(connectId);
    if (tunnel !== undefined) tunnel.onFarData(chunk);
    else if (connectId !== 0 && !this.#closing.has(connectId)) this.stream.control({ type: "CLOSE_REQ", connectId });
  }

  onControl(packet: ControlPacket): void {
    switch (packet.type) {
      case "DIAL_RSP":
        this.#onDialAnswer(packet.random, packet.connectId, packet.error);
        break;
      case "DIAL_CLS": {
        const dial = this.#pending.get(packet.random);
        this.#pending.delete(packet.random);
        dial?.onAgentClosedDial();
        break;
      }
      case "CLOSE_RSP":
        if (packet.error !== "" && this.tunnels.get(packet.connectId) !== undefined) this.#cutByAgent++;
        this.tunnels.get(packet.connectId)?.onFarClosed("the agent closed the connection", packet.error);
        this.#closing.delete(packet.connectId);
        break;
      case "DRAIN":
        this.#onDrain();
        break;
      default:
        // DIAL_REQ and CLOSE_REQ travel the other way only; upstream ignores them here, too.
        this.tunnels.onControl(packet);
    }
  }

  #onDialAnswer(dialId: DialId, connectId: ConnectId, error: string): void {
    const dial = this.#pending.get(dialId);
    if (dial === undefined) {
      if (this.probe?.onDialAnswer(dialId, connectId, error)) return;
      serverDialEnded.publish({
        ...{ source: this.#board.source, frontend: "grpc", address: "", agentId: this.identity.agentId, dialId },
        ...{ outcome: "unrecognized_response", durationMs: 0 },
        error: "the agent answered a dial that nobody waits for",
      });
      if (connectId !== 0) this.stream.control({ type: "CLOSE_REQ", connectId });
      return;
    }
    this.#pending.delete(dialId);
    if (error !== "") dial.onAgentError(this, error);
    else if (connectId === 0 || this.tunnels.get(connectId) !== undefined) {
      dial.onAgentError(this, `agent answered with connection number ${connectId}, which it may not use`);
    } else {
      this.#closing.delete(connectId);
      dial.onAgentAnswer(this, connectId);
    }
  }

  onSettle(): void {
    const { runtime } = this.#board;
    const before = runtime.now();
    if (this.tunnels.settle()) this.#board.frontendWrites.observe((runtime.now() - before) / 1000);
  }

  onDrain(): void {
    this.tunnels.drained();
  }

  onEmpty(): void {}

  onRemoteEnd(): void {
    this.stream.end();
  }

  onClosed(end: StreamEnd): void {
    this.#board.agentDisconnected(this, end);
    this.#closingPhase?.end();
    if (this.#closingPhase !== undefined) this.#reportClosingPhase(this.#closingPhase);
    this.probe?.giveUp();
    const dials = [...this.#pending.values()];
    this.#pending.clear();
    for (const dial of dials) dial.onAgentLost();
    this.tunnels.linkLost("the agent's stream ended");
  }
}

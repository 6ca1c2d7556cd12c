/** One stream to one proxy-server, as the agent sees it: dials that are asked for, tunnels that are open. */
import type { Socket } from "node:net";
import { ShortLivedMap } from "../../base/short-lived.js";
import type { Budget } from "../connection/budget.js";
import { SocketPort } from "../connection/socket-port.js";
import { TunnelTable } from "../connection/table.js";
import type { DialFacts, Tunnel } from "../connection/tunnel.js";
import {
  type AgentDialOutcome,
  agentDialEnded,
  agentProbed,
  agentTunnelClosed,
  tunnelCut,
} from "../events/channels.js";
import type { PacketStream, StreamEnd, StreamOwner } from "../link/packet-stream.js";
import { ECHO_ADDRESS, foundAgent } from "../wire/destination.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import { type DialRules, EndpointDial } from "./dialer.js";
import { EchoPort } from "./echo.js";

/** Dials of one server that may wait for their endpoints; each has a socket or a lookup of its own. */
export const MAX_PENDING_DIALS = 4096;

/** A name has 253 characters at most, and a port five; nobody needs to see more. */
const MAX_ADDRESS_CHARS = 300;

/** Connections to the echo: a watchdog uses one at a time and closes it. */
const MAX_ECHOES = 4;

export interface ServerLinkOptions extends DialRules, Pick<ServerLink, "number" | "serverId" | "address"> {
  /** Identity of the agent in events. */
  readonly source: object;
  /** The server may ask for the built-in echo. */
  readonly echo?: boolean;
  readonly budget: Budget;
  /** Connection numbers are unique in the whole agent, not only on one stream. */
  readonly nextConnectId: () => number;
  readonly onClosed: (end: StreamEnd) => void;
  /** Makes the stream of packets that the link owns. */
  readonly openStream: (link: ServerLink) => PacketStream;
}

export class ServerLink implements StreamOwner {
  /** The agent's own number for this connection. */
  readonly number: number;
  readonly serverId: string;
  /** Where the server was reached, for people. */
  readonly address: string;
  readonly extended: boolean;
  readonly stream: PacketStream;
  readonly tunnels: TunnelTable;
  readonly connectedAt: number;
  /** The server sent GOAWAY. */
  leaving = false;
  readonly #options: ServerLinkOptions;
  readonly #dials = new ShortLivedMap<DialId, { readonly dial: EndpointDial; readonly asked: DialFacts }>();

  constructor(options: ServerLinkOptions) {
    this.#options = options;
    this.number = options.number;
    this.connectedAt = options.runtime.now();
    this.serverId = options.serverId;
    this.address = options.address;
    this.stream = options.openStream(this);
    this.extended = this.stream.extended;
    const { source, serverId, budget, runtime } = options;
    this.tunnels = new TunnelTable({
      ...{ carrier: this.stream, budget, clock: runtime },
      closeWith: "CLOSE_RSP",
      pendingDials: () => this.#dials.size,
      onFinished: (tunnel, reason) => this.#tunnelClosed(tunnel, reason),
      onCut: ({ info: { address }, connectId }, queuedBytes) => {
        const reason = `the endpoint did not read while server ${serverId}, which knows no window, went on sending`;
        tunnelCut.publish({ source, code: "DB_SLOW_READER", address, connectId, queuedBytes, reason });
      },
    });
  }

  #tunnelClosed(tunnel: Tunnel, reason: string): void {
    const { info, connectId } = tunnel;
    if (info.isProbe === true) return;
    const { source, runtime } = this.#options;
    agentTunnelClosed.publish({
      ...{ source, link: this, tunnel, address: info.address, connectId },
      durationMs: runtime.now() - info.openedAt,
      bytesToServer: tunnel.bytesToFar,
      bytesToEndpoint: tunnel.bytesToNear,
      reason,
    });
  }

  /** Nothing open and nothing being opened. */
  get idle(): boolean {
    return this.tunnels.size === 0 && this.#dials.size === 0;
  }

  get pendingDials(): number {
    return this.#dials.size;
  }

  /** Dials that wait for their endpoints. */
  *dials(): Iterable<DialFacts> {
    for (const { asked } of this.#dials.values()) yield asked;
  }

  /** Asks the server to prefer other agents; asked again, to close kept-alive connections between two requests. */
  drain(): void {
    this.stream.control({ type: "DRAIN" });
  }

  /** Drops the stream and with it every tunnel. */
  cancel(reason: string): void {
    this.stream.cancel(reason);
  }

  /** Ends the stream once the server has read everything; the server knows that it was meant. */
  leave(reason: string): void {
    this.stream.leave(reason);
  }

  // ---- StreamOwner: what comes from the server ---------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    const tunnel = this.tunnels.get(connectId);
    if (tunnel !== undefined) tunnel.onFarData(chunk);
    else if (connectId !== 0) this.stream.control({ type: "CLOSE_RSP", connectId, error: "unrecognized connectID" });
  }

  onControl(packet: ControlPacket): void {
    switch (packet.type) {
      case "DIAL_REQ":
        // Nobody would get the answer: the server asks another agent when the stream has ended.
        if (this.stream.ending) break;
        if (packet.address === ECHO_ADDRESS && this.#options.echo === true) this.#answerEcho(packet.random);
        else this.#dial(packet.protocol, packet.address, packet.random);
        break;
      case "DIAL_CLS":
        this.#dials.get(packet.random)?.dial.cancel();
        break;
      case "CLOSE_REQ": {
        const { connectId } = packet;
        const tunnel = this.tunnels.get(connectId);
        tunnel?.onFarClosed("the server closed the connection", packet.error);
        this.stream.control({ type: "CLOSE_RSP", connectId, error: tunnel === undefined ? "Unknown connectID" : "" });
        break;
      }
      default:
        // Answers and DRAIN travel the other way only.
        this.tunnels.onControl(packet);
    }
  }

  #dial(protocol: string, address: string, random: DialId): void {
    const { runtime, nextConnectId } = this.#options;
    const connectId = nextConnectId();
    const startedAt = runtime.now();
    const asked = { id: connectId, address, askedAt: startedAt, dialledAt: startedAt };
    const refusal = this.#refusal(address, random);
    if (refusal !== undefined) {
      this.#dialEnded(random, { ...asked, address: address.slice(0, MAX_ADDRESS_CHARS) }, "failed", refusal);
      this.stream.control({ type: "DIAL_RSP", error: refusal, connectId: 0, random });
      return;
    }
    let port: SocketPort | undefined;
    const ended = (outcome: AgentDialOutcome, error: string): void => {
      this.#dials.delete(random);
      this.#dialEnded(random, asked, outcome, error);
    };
    const dial = new EndpointDial(protocol, address, this.#options, {
      onConnected: (socket: Socket) => {
        port = new SocketPort(socket, runtime);
        ended("established", "");
        const tunnel = this.tunnels.add(connectId, port, { ...asked, openedAt: runtime.now() });
        this.stream.control({ type: "DIAL_RSP", error: "", connectId, random });
        tunnel.start();
      },
      onFailed: ({ outcome, error }) => {
        ended(outcome, error);
        this.stream.control({ type: "DIAL_RSP", error, connectId: 0, random });
      },
      onCancelled: () => ended("cancelled", "nobody waits for it any more"),
      onBytes: (chunk) => port!.received(chunk),
    });
    if (!dial.over) this.#dials.set(random, { dial, asked });
  }

  #dialEnded(random: DialId, asked: DialFacts, outcome: AgentDialOutcome, error: string): void {
    const { source, runtime } = this.#options;
    const { id: connectId, address, askedAt } = asked;
    const durationMs = runtime.now() - askedAt;
    if (foundAgent(random, address, error)) agentProbed.publish({ source, address, durationMs });
    else agentDialEnded.publish({ source, link: this, asked, address, connectId, outcome, error, durationMs });
  }

  /** Why a dial is not even tried. */
  #refusal(address: string, random: DialId): string | undefined {
    if (address.length > MAX_ADDRESS_CHARS)
      return `dial tcp: the address is longer than ${MAX_ADDRESS_CHARS} characters`;
    if (this.#dials.has(random)) return "dial tcp: another dial that is pending has the same ID";
    if (this.#dials.size >= MAX_PENDING_DIALS) return "dial tcp: too many dials are pending at this agent";
    return undefined;
  }

  /** No events and no counts: it is nobody's connection. */
  #answerEcho(random: DialId): void {
    this.stream.received.uncount("DIAL_REQ");
    if (this.tunnels.probes >= MAX_ECHOES) {
      this.stream.control({ type: "DIAL_RSP", error: "too many connections to the echo", connectId: 0, random });
      this.stream.sent.uncount("DIAL_RSP");
      return;
    }
    const { nextConnectId, runtime } = this.#options;
    const connectId = nextConnectId();
    this.stream.leaveUncounted(connectId);
    this.stream.control({ type: "DIAL_RSP", error: "", connectId, random });
    const now = runtime.now();
    const asked = { id: connectId, address: ECHO_ADDRESS, askedAt: now, dialledAt: now };
    this.tunnels.add(connectId, new EchoPort(), { ...asked, openedAt: now, isProbe: true }).start();
  }

  onSettle(): void {
    this.tunnels.settle();
  }

  onDrain(): void {
    this.tunnels.drained();
  }

  onEmpty(): void {}

  onRemoteEnd(): void {
    this.stream.cancel("the server ended the stream");
  }

  onClosed(end: StreamEnd): void {
    for (const { dial } of [...this.#dials.values()]) dial.cancel();
    this.tunnels.linkLost("the stream to the server ended");
    this.#options.onClosed(end);
  }
}

/** One stream to one proxy-server, as the agent sees it: dials that are asked for, tunnels that are open. */
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.js";
import { ShortLivedMap } from "../../base/short-lived.js";
import type { Budget } from "../connection/budget.js";
import { SocketPort } from "../connection/socket-port.js";
import { TunnelTable } from "../connection/table.js";
import type { DialFacts, Tunnel } from "../connection/tunnel.js";
import type { PacketStream, StreamEnd, StreamOwner } from "../link/packet-stream.js";
import type { Resolver } from "../resolver/resolver.js";
import { ECHO_ADDRESS } from "../wire/destination.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import { type DialFailure, EndpointDial } from "./dialer.js";
import { EchoTunnels } from "./echo.js";
import type { DestinationPolicy } from "./policy.js";

/** Dials of one server that may wait for their endpoints; each has a socket or a lookup of its own. */
export const MAX_PENDING_DIALS = 4096;

/** A name has 253 characters at most, and a port five; nobody needs to see more. */
const MAX_ADDRESS_CHARS = 300;

export interface ServerLinkOptions {
  /** The agent's own number for this connection. */
  readonly number: number;
  readonly serverId: string;
  /** Where the server was reached, for people. */
  readonly address: string;
  readonly extended: boolean;
  /** The server may ask for the built-in echo. */
  readonly echo?: boolean;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly policy: DestinationPolicy;
  readonly resolver: Resolver;
  /** Connection numbers are unique in the whole agent, not only on one stream. */
  readonly nextConnectId: () => number;
  readonly events: ServerLinkEvents;
  /** Makes the stream of packets that the link owns. */
  readonly openStream: (link: ServerLink) => PacketStream;
}

export interface ServerLinkEvents {
  onDialEnded(link: ServerLink, asked: DialFacts, outcome: DialOutcome, error: string): void;
  onTunnelFinished(link: ServerLink, tunnel: Tunnel, reason: string): void;
  onTunnelCut(tunnel: Tunnel, queuedBytes: number): void;
  onClosed(link: ServerLink, end: StreamEnd): void;
}

export type DialOutcome = "established" | "cancelled" | DialFailure["outcome"];

export class ServerLink implements StreamOwner {
  readonly number: number;
  readonly serverId: string;
  readonly address: string;
  readonly extended: boolean;
  readonly stream: PacketStream;
  readonly tunnels: TunnelTable;
  readonly connectedAt: number;
  /** The server sent GOAWAY. */
  leaving = false;
  readonly #echo: EchoTunnels | undefined;
  readonly #options: ServerLinkOptions;
  readonly #dials = new ShortLivedMap<DialId, { readonly dial: EndpointDial; readonly asked: DialFacts }>();

  constructor(options: ServerLinkOptions) {
    this.#options = options;
    this.number = options.number;
    this.connectedAt = options.clock.now();
    this.serverId = options.serverId;
    this.address = options.address;
    this.extended = options.extended;
    this.stream = options.openStream(this);
    const { budget, clock } = options;
    const shared = { carrier: this.stream, budget, clock };
    this.tunnels = new TunnelTable({
      ...shared,
      closeWith: "CLOSE_RSP",
      pendingDials: () => this.#dials.size,
      onFinished: (tunnel, reason) => options.events.onTunnelFinished(this, tunnel, reason),
      onCut: (tunnel, queuedBytes) => options.events.onTunnelCut(tunnel, queuedBytes),
    });
    this.#echo = options.echo ? new EchoTunnels(shared) : undefined;
  }

  /** Nothing open and nothing being opened. */
  get idle(): boolean {
    return this.tunnels.size === 0 && this.#dials.size === 0;
  }

  /** The last bytes of tunnels that have ended may still be on their way to the server. */
  get flushing(): boolean {
    return this.stream.queuedBytes > 0;
  }

  get pendingDials(): number {
    return this.#dials.size;
  }

  /** What is being dialled. */
  *dials(): Iterable<DialFacts> {
    for (const { asked } of this.#dials.values()) yield asked;
  }

  drain(): void {
    this.stream.control({ type: "DRAIN" });
  }

  /** Drops the stream and with it every tunnel. */
  cancel(reason: string): void {
    this.stream.cancel(reason);
  }

  // ---- StreamOwner: what comes from the server ---------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    const tunnel = this.#tunnel(connectId);
    if (tunnel !== undefined) tunnel.onFarData(chunk);
    else if (connectId !== 0) this.stream.control({ type: "CLOSE_RSP", connectId, error: "unrecognized connectID" });
  }

  /** To an endpoint, or else of the built-in echo. */
  #tunnel(connectId: ConnectId): Tunnel | undefined {
    return this.tunnels.get(connectId) ?? this.#echo?.tunnels.get(connectId);
  }

  onControl(packet: ControlPacket): void {
    switch (packet.type) {
      case "DIAL_REQ":
        if (packet.address === ECHO_ADDRESS && this.#echo !== undefined) this.#answerEcho(this.#echo, packet.random);
        else this.#dial(packet.protocol, packet.address, packet.random);
        break;
      case "DIAL_CLS":
        this.#dials.get(packet.random)?.dial.cancel();
        break;
      case "CLOSE_REQ":
        this.#close(packet.connectId);
        break;
      case "CREDIT":
        if (this.extended) this.#tunnel(packet.connectId)?.onFarCredit(packet.bytes);
        break;
      case "END_OF_STREAM":
        if (this.extended) this.#tunnel(packet.connectId)?.onFarEnd();
        break;
      default:
        // Answers and DRAIN travel the other way only.
        break;
    }
  }

  #dial(protocol: string, address: string, random: DialId): void {
    const { clock, policy, resolver, nextConnectId, events } = this.#options;
    const connectId = nextConnectId();
    const startedAt = clock.now();
    const asked = { id: connectId, address, askedAt: startedAt, dialledAt: startedAt };
    const refusal = this.#refusal(address, random);
    if (refusal !== undefined) {
      events.onDialEnded(this, { ...asked, address: address.slice(0, MAX_ADDRESS_CHARS) }, "unknown", refusal);
      this.stream.control({ type: "DIAL_RSP", error: refusal, connectId: 0, random });
      return;
    }
    let port: SocketPort | undefined;
    const ended = (outcome: DialOutcome, error: string): void => {
      this.#dials.delete(random);
      events.onDialEnded(this, asked, outcome, error);
    };
    const dial = new EndpointDial(
      protocol,
      address,
      { policy, resolver, clock },
      {
        onConnected: (socket: Socket) => {
          port = new SocketPort(socket, clock);
          ended("established", "");
          const tunnel = this.tunnels.add(connectId, port, {
            id: connectId,
            address,
            askedAt: startedAt,
            dialledAt: startedAt,
            openedAt: clock.now(),
          });
          this.stream.control({ type: "DIAL_RSP", error: "", connectId, random });
          tunnel.start();
        },
        onFailed: ({ outcome, error }) => {
          ended(outcome, error);
          this.stream.control({ type: "DIAL_RSP", error, connectId: 0, random });
        },
        onCancelled: () => ended("cancelled", "nobody waits for it any more"),
        onBytes: (chunk) => port!.received(chunk),
      },
    );
    if (!dial.over) this.#dials.set(random, { dial, asked });
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
  #answerEcho(echo: EchoTunnels, random: DialId): void {
    this.stream.received.uncount("DIAL_REQ");
    if (echo.full) {
      this.stream.control({ type: "DIAL_RSP", error: "too many connections to the echo", connectId: 0, random });
      this.stream.sent.uncount("DIAL_RSP");
      return;
    }
    const connectId = this.#options.nextConnectId();
    this.stream.leaveUncounted(connectId);
    this.stream.control({ type: "DIAL_RSP", error: "", connectId, random });
    echo.open(connectId);
  }

  #close(connectId: ConnectId): void {
    const tunnel = this.#tunnel(connectId);
    tunnel?.onFarClosed("the server closed the connection");
    this.stream.control({ type: "CLOSE_RSP", connectId, error: tunnel === undefined ? "Unknown connectID" : "" });
  }

  onSettle(): void {
    this.tunnels.settle();
    this.#echo?.tunnels.settle();
  }

  onDrain(): void {
    this.tunnels.drained();
    this.#echo?.tunnels.drained();
  }

  onEmpty(): void {}

  onRemoteEnd(): void {
    this.stream.cancel("the server ended the stream");
  }

  onClosed(end: StreamEnd): void {
    for (const { dial } of [...this.#dials.values()]) dial.cancel();
    this.tunnels.linkLost("the stream to the server ended");
    this.#echo?.tunnels.linkLost("the stream to the server ended");
    this.#options.events.onClosed(this, end);
  }
}

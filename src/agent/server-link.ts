/** One stream to one proxy-server, as the agent sees it: dials that are asked for, tunnels that stand. */
import type { Socket } from "node:net";
import { PacketCarrier } from "../link/packet-carrier.js";
import type { StreamEnd, StreamOwner } from "../link/packet-stream.js";
import type { Budget } from "../tunnel/budget.js";
import type { Clock } from "../tunnel/clock.js";
import { SocketPort } from "../tunnel/socket-port.js";
import { TunnelTable } from "../tunnel/table.js";
import type { Tunnel } from "../tunnel/tunnel.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import { type DialFailure, EndpointDial } from "./dialer.js";
import type { DestinationPolicy } from "./policy.js";

export interface ServerLinkOptions {
  readonly serverId: string;
  /** Where the server was reached, for people. */
  readonly address: string;
  readonly extended: boolean;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly policy: DestinationPolicy;
  /** Connection numbers are unique in the whole agent, not only on one stream. */
  readonly nextConnectId: () => number;
  readonly events: ServerLinkEvents;
}

export interface ServerLinkEvents {
  onDialEnded(dial: EndedDial): void;
  onTunnelFinished(tunnel: Tunnel, reason: string): void;
  onTunnelCut(tunnel: Tunnel, queuedBytes: number): void;
  onClosed(link: ServerLink, end: StreamEnd): void;
}

export interface EndedDial {
  readonly address: string;
  readonly connectId: number;
  readonly outcome: "established" | "cancelled" | DialFailure["outcome"];
  readonly error: string;
  readonly durationMs: number;
}

export class ServerLink extends PacketCarrier implements StreamOwner {
  readonly serverId: string;
  readonly address: string;
  readonly extended: boolean;
  readonly tunnels: TunnelTable;
  readonly #options: ServerLinkOptions;
  readonly #dials = new Map<DialId, EndpointDial>();

  constructor(options: ServerLinkOptions) {
    super();
    this.#options = options;
    this.serverId = options.serverId;
    this.address = options.address;
    this.extended = options.extended;
    this.tunnels = new TunnelTable({
      carrier: this,
      budget: options.budget,
      clock: options.clock,
      closeWith: "CLOSE_RSP",
      pendingDials: () => this.#dials.size,
      onFinished: (tunnel, reason) => options.events.onTunnelFinished(tunnel, reason),
      onCut: (tunnel, queuedBytes) => options.events.onTunnelCut(tunnel, queuedBytes),
    });
  }

  /** Nothing open and nothing being opened. */
  get idle(): boolean {
    return this.tunnels.size === 0 && this.#dials.size === 0;
  }

  /** The last bytes of tunnels that are over may still be on their way to the server. */
  get flushing(): boolean {
    return this.queuedBytes > 0;
  }

  drain(): void {
    this.control({ type: "DRAIN" });
  }

  /** Drops the stream and with it every tunnel. */
  cancel(reason: string): void {
    this.stream.cancel(reason);
  }

  // ---- StreamOwner: what comes from the server ---------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    const tunnel = this.tunnels.get(connectId);
    if (tunnel !== undefined) tunnel.onFarData(chunk);
    else if (connectId !== 0) this.control({ type: "CLOSE_RSP", connectId, error: "unrecognized connectID" });
  }

  onControl(packet: ControlPacket): void {
    switch (packet.type) {
      case "DIAL_REQ":
        this.#dial(packet.protocol, packet.address, packet.random);
        break;
      case "DIAL_CLS":
        this.#dials.get(packet.random)?.cancel();
        break;
      case "CLOSE_REQ":
        this.#close(packet.connectId);
        break;
      case "CREDIT":
        if (this.extended) this.tunnels.get(packet.connectId)?.onFarCredit(packet.bytes);
        break;
      case "END_OF_STREAM":
        if (this.extended) this.tunnels.get(packet.connectId)?.onFarEnd();
        break;
      default:
        // Answers and DRAIN travel the other way only.
        break;
    }
  }

  #dial(protocol: string, address: string, random: DialId): void {
    const { clock, policy, nextConnectId, events } = this.#options;
    const connectId = nextConnectId();
    const startedAt = clock.now();
    let port: SocketPort | undefined;
    const ended = (outcome: EndedDial["outcome"], error: string): void => {
      this.#dials.delete(random);
      events.onDialEnded({ address, connectId, outcome, error, durationMs: clock.now() - startedAt });
    };
    const dial = new EndpointDial(protocol, address, policy, clock, {
      onConnected: (socket: Socket) => {
        port = new SocketPort(socket, clock);
        ended("established", "");
        const tunnel = this.tunnels.add(connectId, port, { address, openedAt: clock.now() });
        this.control({ type: "DIAL_RSP", error: "", connectId, random });
        tunnel.start();
      },
      onFailed: ({ outcome, error }) => {
        ended(outcome, error);
        this.control({ type: "DIAL_RSP", error, connectId: 0, random });
      },
      onCancelled: () => ended("cancelled", "nobody waits for it any more"),
      onBytes: (chunk) => port!.received(chunk),
    });
    if (!dial.over) this.#dials.set(random, dial);
  }

  #close(connectId: ConnectId): void {
    const tunnel = this.tunnels.get(connectId);
    tunnel?.onFarClosed("the server closed the connection");
    this.control({ type: "CLOSE_RSP", connectId, error: tunnel === undefined ? "Unknown connectID" : "" });
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
    for (const dial of [...this.#dials.values()]) dial.cancel();
    this.tunnels.linkLost("the stream to the server ended");
    this.#options.events.onClosed(this, end);
  }
}

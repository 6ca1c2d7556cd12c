/** The tunnels of one link, by connection number, and what the link's turn is about: tunnels that were written to, and those that wait for room. */

import type { Clock } from "../../base/clock.js";
import { ShortLivedMap } from "../../base/short-lived.js";
import type { ConnectId, ControlPacket } from "../wire/packet.js";
import type { Budget } from "./budget.js";
import { Overflow } from "./overflow.js";
import { type Carrier, type Port, Tunnel, type TunnelInfo } from "./tunnel.js";

export interface TableOptions {
  readonly carrier: Carrier & { pause(): void; resume(): void };
  readonly budget: Budget;
  readonly clock: Clock;
  /** The packet that closes a tunnel at the far end: CLOSE_REQ from a server, CLOSE_RSP from an agent. */
  readonly closeWith: "CLOSE_REQ" | "CLOSE_RSP";
  /** Dials that wait for this link's answer, besides the tunnels. */
  readonly pendingDials: () => number;
  readonly onFinished: (tunnel: Tunnel, reason: string) => void;
  readonly onCut: (tunnel: Tunnel, queuedBytes: number) => void;
}

export class TunnelTable {
  readonly carrier: TableOptions["carrier"];
  readonly budget: Budget;
  readonly clock: Clock;
  readonly #options: TableOptions;
  readonly #tunnels = new ShortLivedMap<ConnectId, Tunnel>();
  readonly #overflow: Overflow;
  /** Tunnels of the watchdog. */
  probes = 0;
  /** Bytes of all tunnels there ever were, those of the watchdog not counted; each tunnel adds its own as they pass. */
  readonly traffic = { toFar: 0, toNear: 0 };
  #touched: Tunnel[] = [];
  #blocked = new Set<Tunnel>();

  constructor(options: TableOptions) {
    this.#options = options;
    this.carrier = options.carrier;
    this.budget = options.budget;
    this.clock = options.clock;
    this.#overflow = new Overflow(this);
  }

  /** Tunnels, those of the watchdog not counted. */
  get size(): number {
    return this.#tunnels.size - this.probes;
  }

  /** Whether a slow reader holds up anybody else when this link is not read. */
  get isShared(): boolean {
    return this.size > 1 || this.#options.pendingDials() > 0;
  }

  /** The link is not read because a slow reader holds too much. */
  get readingPaused(): boolean {
    return this.#overflow.active;
  }

  *values(): IterableIterator<Tunnel> {
    for (const tunnel of this.#tunnels.values()) if (tunnel.info.isProbe !== true) yield tunnel;
  }

  get(connectId: ConnectId): Tunnel | undefined {
    return this.#tunnels.get(connectId);
  }

  add(connectId: ConnectId, port: Port, info: TunnelInfo): Tunnel {
    const tunnel = new Tunnel(connectId, port, info, this);
    this.#tunnels.set(connectId, tunnel);
    if (info.isProbe === true) this.probes++;
    return tunnel;
  }

  /** Credit and end of stream, if both were agreed on with the peer; other packets are not for a tunnel alone. */
  onControl(packet: ControlPacket): void {
    if (!this.carrier.extended) return;
    if (packet.type === "CREDIT") this.get(packet.connectId)?.onFarCredit(packet.bytes);
    else if (packet.type === "END_OF_STREAM") this.get(packet.connectId)?.onFarEnd();
  }

  /** Ends the turn: every port that was written to is flushed at once. False when there was none but the watchdog's. */
  settle(): boolean {
    const touched = this.#touched;
    if (touched.length === 0) return false;
    this.#touched = [];
    let isTraffic = false;
    for (const tunnel of touched) {
      tunnel.isTouched = false;
      if (tunnel.info.isProbe !== true) isTraffic = true;
      tunnel.settle();
    }
    return isTraffic;
  }

  /** The link takes bytes again. */
  drained(): void {
    const blocked = this.#blocked;
    this.#blocked = new Set();
    for (const tunnel of blocked) tunnel.resumeNear();
  }

  linkLost(reason: string): void {
    for (const tunnel of [...this.#tunnels.values()]) tunnel.linkLost(reason);
  }

  /** Bytes were written to the tunnel's port, which is flushed at the end of this turn. */
  touched(tunnel: Tunnel): void {
    if (tunnel.isTouched) return;
    tunnel.isTouched = true;
    this.#touched.push(tunnel);
  }

  /** The tunnel's source is paused until the link takes bytes again. */
  blocked(tunnel: Tunnel): void {
    this.#blocked.add(tunnel);
  }

  /** The port of a tunnel without a window holds too much. */
  overflowing(tunnel: Tunnel): void {
    this.#overflow.add(tunnel);
  }

  /** The tunnel's reader has held up others for too long. */
  cut(tunnel: Tunnel, queuedBytes: number): void {
    this.#options.onCut(tunnel, queuedBytes);
    tunnel.close("its reader was too slow (DB_SLOW_READER)", "drop");
  }

  /** With an error where the stream is not complete; upstream has no field for it in a CLOSE_REQ. */
  closeFar(connectId: ConnectId, error: string): void {
    const { carrier } = this;
    if (this.#options.closeWith === "CLOSE_RSP") carrier.control({ type: "CLOSE_RSP", connectId, error });
    else if (error === "" || !carrier.extended) carrier.control({ type: "CLOSE_REQ", connectId });
    else carrier.control({ type: "CLOSE_REQ", connectId, error });
  }

  finished(tunnel: Tunnel, reason: string): void {
    this.#tunnels.delete(tunnel.connectId);
    if (tunnel.info.isProbe === true) this.probes--;
    this.#blocked.delete(tunnel);
    this.#overflow.remove(tunnel);
    this.#options.onFinished(tunnel, reason);
  }
}

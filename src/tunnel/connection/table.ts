/** The tunnels of one link, by connection number, and the link's turn: who was written to, who waits for room. */

import type { Clock } from "../../base/clock.js";
import { ShortLivedMap } from "../../base/short-lived.js";
import type { ConnectId } from "../wire/packet.js";
import type { Budget } from "./budget.js";
import { Overflow } from "./overflow.js";
import { type Carrier, type Port, Tunnel, type TunnelInfo, type TunnelKeeper } from "./tunnel.js";

export interface TableOptions {
  readonly carrier: Carrier & { pause(): void; resume(): void };
  readonly budget: Budget;
  readonly clock: Clock;
  readonly closeWith: "CLOSE_REQ" | "CLOSE_RSP";
  /** Dials that wait for this link's answer, besides the tunnels. */
  readonly pendingDials: () => number;
  readonly onFinished: (tunnel: Tunnel, reason: string) => void;
  readonly onCut: (tunnel: Tunnel, queuedBytes: number) => void;
}

export class TunnelTable implements TunnelKeeper {
  readonly carrier: TableOptions["carrier"];
  readonly budget: Budget;
  readonly clock: Clock;
  readonly #options: TableOptions;
  readonly #tunnels = new ShortLivedMap<ConnectId, Tunnel>();
  readonly #overflow: Overflow;
  /** Of tunnels that have ended. */
  #pastToFar = 0;
  #pastToNear = 0;
  #touched: Tunnel[] = [];
  #blocked = new Set<Tunnel>();

  constructor(options: TableOptions) {
    this.#options = options;
    this.carrier = options.carrier;
    this.budget = options.budget;
    this.clock = options.clock;
    this.#overflow = new Overflow(
      options.clock,
      {
        pauseReading: () => options.carrier.pause(),
        resumeReading: () => options.carrier.resume(),
        sharedWithOthers: () => this.#tunnels.size > 1 || options.pendingDials() > 0,
        cutSlowReader: (tunnel, queuedBytes) => {
          options.onCut(tunnel, queuedBytes);
          tunnel.cut("its reader was too slow");
        },
      },
      options.budget,
    );
  }

  get size(): number {
    return this.#tunnels.size;
  }

  /** The link is not read because a slow reader holds too much. */
  get readingPaused(): boolean {
    return this.#overflow.active;
  }

  /** Bytes of all tunnels there ever were; added up when somebody asks. */
  traffic(): { toFar: number; toNear: number } {
    let toFar = this.#pastToFar;
    let toNear = this.#pastToNear;
    for (const tunnel of this.#tunnels.values()) {
      toFar += tunnel.bytesToFar;
      toNear += tunnel.bytesToNear;
    }
    return { toFar, toNear };
  }

  values(): IterableIterator<Tunnel> {
    return this.#tunnels.values();
  }

  get(connectId: ConnectId): Tunnel | undefined {
    return this.#tunnels.get(connectId);
  }

  add(connectId: ConnectId, port: Port, info: TunnelInfo): Tunnel {
    const tunnel = new Tunnel(connectId, port, info, this, this.#options.closeWith);
    this.#tunnels.set(connectId, tunnel);
    return tunnel;
  }

  /** Ends the turn: every port that was written to lets go at once. False when there was none. */
  settle(): boolean {
    const touched = this.#touched;
    if (touched.length === 0) return false;
    this.#touched = [];
    for (const tunnel of touched) {
      tunnel.isTouched = false;
      tunnel.settle();
    }
    return true;
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

  touched(tunnel: Tunnel): void {
    if (tunnel.isTouched) return;
    tunnel.isTouched = true;
    this.#touched.push(tunnel);
  }

  blocked(tunnel: Tunnel): void {
    this.#blocked.add(tunnel);
  }

  overflowing(tunnel: Tunnel): void {
    this.#overflow.add(tunnel);
  }

  finished(tunnel: Tunnel, reason: string): void {
    this.#tunnels.delete(tunnel.connectId);
    this.#pastToFar += tunnel.bytesToFar;
    this.#pastToNear += tunnel.bytesToNear;
    this.#blocked.delete(tunnel);
    this.#overflow.remove(tunnel);
    this.#options.onFinished(tunnel, reason);
  }
}

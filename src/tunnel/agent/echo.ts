/**
 * The built-in echo: what a server's watchdog dials to see whether bytes get through. Its connections are tunnels like
 * all others, with windows and on the same link, except that they end in this process and are nobody's traffic: they
 * are not counted, not shown, and do not keep the agent from being idle.
 */
import { ByteQueue } from "../../base/byte-queue.js";
import { type TableOptions, TunnelTable } from "../connection/table.js";
import type { NearEvents, Port } from "../connection/tunnel.js";
import { ECHO_ADDRESS } from "../wire/destination.js";

/** A watchdog uses one at a time and closes it. */
const MAX_OPEN = 4;

export class EchoTunnels {
  readonly tunnels: TunnelTable;

  constructor(options: Pick<TableOptions, "carrier" | "budget" | "clock">) {
    this.tunnels = new TunnelTable({
      ...options,
      closeWith: "CLOSE_RSP",
      pendingDials: () => 0,
      onFinished: () => {},
      onCut: () => {},
    });
  }

  get full(): boolean {
    return this.tunnels.size >= MAX_OPEN;
  }

  /** From here on what comes for `connectId` goes back. */
  open(connectId: number): void {
    const now = this.tunnels.clock.now();
    const info = { id: connectId, address: ECHO_ADDRESS, askedAt: now, dialledAt: now, openedAt: now };
    this.tunnels.add(connectId, new EchoPort(), info).start();
  }
}

export class EchoPort implements Port {
  readonly canHalfClose = true;
  readonly #queue = new ByteQueue();
  #near: NearEvents | undefined;
  #paused = false;
  #ending = false;

  get queuedBytes(): number {
    return this.#queue.length;
  }

  attach(near: NearEvents): void {
    this.#near = near;
  }

  write(chunk: Buffer): void {
    this.#queue.push(chunk);
  }

  flush(): void {
    while (!this.#paused) {
      const chunk = this.#queue.shift();
      if (chunk === undefined) break;
      this.#near?.onNearData(chunk);
    }
    this.#queue.settle();
    if (this.#ending && this.queuedBytes === 0) {
      this.#ending = false;
      this.#near?.onNearEnd();
    }
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.flush();
    if (this.queuedBytes === 0) this.#near?.onNearDrained();
  }

  end(): void {
    this.#ending = true;
    this.flush();
  }

  close(): void {
    this.destroy();
  }

  destroy(): void {
    this.#near = undefined;
    this.#queue.clear();
  }
}

/**
 * The built-in echo: what a server's watchdog dials to see whether bytes get through. Its connections are tunnels like
 * all others, with windows and on the same link, except that they end in this process and are nobody's traffic: they
 * are not counted, not shown, and do not keep the agent from being idle.
 */
import { ByteQueue } from "../../base/byte-queue.js";
import type { NearEvents, Port } from "../connection/tunnel.js";

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

  cut(): void {
    this.destroy();
  }

  destroy(): void {
    this.#near = undefined;
    this.#queue.clear();
  }
}

/** The limit on client connections of the process, over all listeners. */
import type { Socket } from "node:net";
import { pause, systemClock } from "../../base/clock.js";
import { processConnections } from "../../base/connections.js";
import { ShortLivedSet } from "../../base/short-lived.js";

/** Connections beyond the limit that are accepted to be refused in their own protocol; further ones are just closed. */
const MAX_REFUSED = 128;

const DRAIN_CHECK_MS = 20;

export class ConnectionLimit {
  readonly #max: number;
  readonly #sockets = new ShortLivedSet<Socket>();
  readonly #full = new WeakSet<Socket>();
  #lastId = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A number for a client whose target is dialled, unique over all listeners. */
  nextId(): number {
    return ++this.#lastId;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** False: the socket was closed. */
  admit(socket: Socket): boolean {
    // From here on somebody always listens: an error that nobody expects must not end the process.
    socket.on("error", () => {});
    if (this.#sockets.size >= this.#max + MAX_REFUSED) {
      socket.destroy();
      return false;
    }
    if (this.#sockets.size >= this.#max && !this.#closedPending()) this.#full.add(socket);
    socket.once("close", this.#sockets.add(socket));
    return true;
  }

  /** Closes the oldest client that has not named its target yet, so that silent ones keep nobody out. */
  #closedPending(): boolean {
    const closed = processConnections.closeOldestPending("connection-limit");
    // One that was itself to be refused does not count: the limit is still reached.
    return closed !== undefined && !this.#full.has(closed);
  }

  /** Whether this one was accepted only to be refused. */
  isExceededBy(socket: Socket): boolean {
    return this.#full.has(socket);
  }

  /** Resolves to whether all connections ended in time. */
  async drained(withinMs: number): Promise<boolean> {
    const deadline = systemClock.now() + withinMs;
    while (this.#sockets.size > 0 && systemClock.now() < deadline) await pause(systemClock, DRAIN_CHECK_MS);
    return this.#sockets.size === 0;
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

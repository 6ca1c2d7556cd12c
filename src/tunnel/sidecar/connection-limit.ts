/** Who is inside: every client connection of the process, up to a limit, over all listeners. */
import type { Socket } from "node:net";
import { processConnections } from "../../base/connections.js";
import { ShortLivedSet } from "../../base/short-lived.js";

/** How many more may come in to be told, in their protocol, that there is no room; the rest is closed unheard. */
const TO_BE_REFUSED = 128;

export class ConnectionLimit {
  readonly #max: number;
  readonly #sockets = new ShortLivedSet<Socket>();
  readonly #full = new WeakSet<Socket>();
  #onEmpty: (() => void)[] = [];
  #joined = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A number for a client that is joined with its target: one row for all listeners. */
  nextId(): number {
    return ++this.#joined;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** False: the socket was closed. */
  admit(socket: Socket): boolean {
    // From here on somebody always listens: an error that nobody expects must not end the process.
    socket.on("error", () => {});
    if (this.#sockets.size >= this.#max + TO_BE_REFUSED) {
      socket.destroy();
      return false;
    }
    if (this.#sockets.size >= this.#max && !this.#madeRoom()) this.#full.add(socket);
    const leave = this.#sockets.add(socket);
    socket.once("close", () => {
      leave();
      this.#tellIfEmpty();
    });
    return true;
  }

  /** A client that has not said yet what it wants makes way, so that silent ones keep nobody out. */
  #madeRoom(): boolean {
    const closed = processConnections.closeOldestPending("connection-limit");
    // One that was only here to be refused has taken nobody's place.
    return closed !== undefined && !this.#full.has(closed);
  }

  /** Whether this one came when there was no room. */
  isExceededBy(socket: Socket): boolean {
    return this.#full.has(socket);
  }

  /** Resolves to whether everybody left in time. */
  async drained(withinMs: number): Promise<boolean> {
    if (this.#sockets.size === 0) return true;
    return await new Promise((resolve) => {
      const late = setTimeout(() => resolve(false), withinMs);
      this.#onEmpty.push(() => {
        clearTimeout(late);
        resolve(true);
      });
    });
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #tellIfEmpty(): void {
    if (this.#sockets.size > 0) return;
    for (const tell of this.#onEmpty.splice(0)) tell();
  }
}

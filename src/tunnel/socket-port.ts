/** A stream socket (TCP, TLS or Unix) as a port. */
import type { Clock } from "./clock.js";
import type { NearEvents, Port } from "./port.js";

/** What is needed of a `net.Socket`; spelled out because this room opens no sockets. */
export interface SocketLike {
  readonly writableLength: number;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableNeedDrain: boolean;
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "drain" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  write(chunk: Uint8Array, done?: (error?: Error | null) => void): boolean;
  cork(): void;
  uncork(): void;
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
  destroySoon(): void;
  destroy(): unknown;
}

const NOTHING = new Uint8Array(0);

/** How long a closed tunnel's last bytes may take to reach a slow reader. */
const LINGER_MS = 10_000;

export class SocketPort implements Port {
  readonly canHalfClose = true;
  readonly #socket: SocketLike;
  readonly #clock: Clock;
  #near: NearEvents | undefined;
  #corked = false;
  #watching = false;
  #cancelLinger: (() => void) | undefined;

  constructor(socket: SocketLike, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  attach(near: NearEvents): void {
    const socket = this.#socket;
    this.#near = near;
    let lost = "the connection was closed";
    socket.on("data", (chunk) => near.onNearData(chunk));
    socket.on("end", () => near.onNearEnd());
    socket.on("drain", () => near.onNearDrained());
    socket.on("error", (error) => {
      lost = error.message;
    });
    socket.on("close", () => {
      this.#cancelLinger?.();
      near.onNearLost(lost);
    });
    if (socket.destroyed) near.onNearLost(lost);
  }

  /** For sockets that read into a buffer of ours (`onread`) instead of emitting `data`. */
  received(chunk: Uint8Array): void {
    this.#near?.onNearData(chunk);
  }

  write(chunk: Buffer): void {
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
    }
    this.#socket.write(chunk);
  }

  flush(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#socket.uncork();
    this.#watchQueue();
  }

  /**
   * A queue below the socket's own high-water mark empties without a `drain`: then an empty write behind it tells when.
   * Without it the last bytes of a window would never be credited, and the tunnel would stand still for good.
   */
  #watchQueue(): void {
    const socket = this.#socket;
    if (this.#watching || socket.writableLength === 0 || socket.writableNeedDrain || socket.writableEnded) return;
    this.#watching = true;
    socket.write(NOTHING, this.#onCaughtUp);
  }

  readonly #onCaughtUp = (error?: Error | null): void => {
    this.#watching = false;
    if (!error) this.#near?.onNearDrained();
  };

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.flush();
    this.#socket.end();
  }

  close(): void {
    this.flush();
    if (this.#socket.destroyed) return;
    this.#socket.destroySoon();
    if (!this.#socket.destroyed) this.#cancelLinger ??= this.#clock.after(LINGER_MS, () => this.#socket.destroy());
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

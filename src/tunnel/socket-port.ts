/** A stream socket (TCP, TLS or Unix) as a port. */
import type { Clock } from "./clock.js";
import type { NearEvents, Port } from "./port.js";

/** What is needed of a `net.Socket`; spelled out because this room opens no sockets. */
export interface SocketLike {
  readonly writableLength: number;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "drain" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  write(chunk: Uint8Array): boolean;
  cork(): void;
  uncork(): void;
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
  destroySoon(): void;
  destroy(): unknown;
}

/** How long a closed tunnel's last bytes may take to reach a slow reader. */
const LINGER_MS = 10_000;

export class SocketPort implements Port {
  readonly canHalfClose = true;
  readonly #socket: SocketLike;
  readonly #clock: Clock;
  #near: NearEvents | undefined;
  #corked = false;
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
  }

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

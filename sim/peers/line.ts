/** What a caller or an endpoint talks through: a socket, or a stream of a gRPC caller. */
import type { SimSocket } from "../sockets/socket.js";

export interface Line {
  /** False: it would rather have no more until onDrain. */
  write(bytes: Buffer): boolean;
  pause(): void;
  resume(): void;
  /** No more bytes; the other direction stays open where the line can do that. */
  end(): void;
  /** Closes both directions once everything written was handed on. */
  close(): void;
  reset(): void;
}

export interface LineEvents {
  onData(bytes: Uint8Array): void;
  onDrain(): void;
  /** The other side has ended in good order. */
  onEnd(): void;
  /** Both directions are closed; with the error if there was one. Called once, last. */
  onClosed(error: string | undefined): void;
}

export class SocketLine implements Line {
  readonly #socket: SimSocket;
  #error: string | undefined;

  constructor(socket: SimSocket, events: LineEvents) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => events.onData(chunk));
    socket.on("end", () => {
      if (!socket.isTruncated) {
        events.onEnd();
        return;
      }
      // As clients of Go and OpenSSL do; Node's do not notice.
      this.#error = "TRUNCATED";
      socket.destroy();
    });
    socket.on("drain", () => events.onDrain());
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#error = error.code ?? error.message;
    });
    socket.on("close", () => events.onClosed(this.#error));
  }

  write(bytes: Buffer): boolean {
    return this.#socket.write(bytes);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroySoon();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }
}

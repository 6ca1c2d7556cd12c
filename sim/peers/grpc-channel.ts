/** A connection to a gRPC frontend: konnectivity-client has one for each dial, other clients share one. */
import type { Duplex } from "node:stream";
import { Session } from "../../src/tunnel/link/h2/session.js";
import type { Stream } from "../../src/tunnel/link/h2/stream.js";
import { SESSION_WINDOW_BYTES } from "../../src/tunnel/link/tuning.js";
import type { SimSocket } from "../sockets/socket.js";
import { runtimeOf } from "../systems/runtime.js";
import type { Host } from "../world/host.js";

export interface ChannelUser {
  onStream(stream: Stream): void;
  /** The connection is closed. */
  onLost(error: string | undefined): void;
}

const IDLE_MS = 50;

export class GrpcChannel {
  readonly isShared: boolean;
  readonly socket: SimSocket;
  readonly #host: Host;
  /** Nobody uses it, and it is still open. */
  readonly #onIdle: () => void;
  readonly #users = new Set<ChannelUser>();
  #session: Session | undefined;
  #error: string | undefined;

  constructor(host: Host, socket: SimSocket, windowBytes: number, isShared: boolean, onIdle: () => void = () => {}) {
    this.#host = host;
    this.#onIdle = onIdle;
    this.socket = socket;
    this.isShared = isShared;
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // After its own end it may still have something to write.
      if (!socket.writableEnded) this.#error = error.code;
    });
    socket.on("connect", () => {
      this.#session = new Session(socket as unknown as Duplex, {
        isServer: false,
        runtime: runtimeOf(host),
        streamWindowBytes: windowBytes,
        sessionWindowBytes: SESSION_WINDOW_BYTES,
      });
      for (const user of this.#users) this.#call(user);
    });
    socket.on("close", () => {
      for (const user of this.#users) user.onLost(this.#error);
    });
  }

  /** Takes nobody any more. */
  get isClosed(): boolean {
    return this.socket.destroyed || this.socket.writableEnded || this.#session?.closed === true;
  }

  add(user: ChannelUser): void {
    this.#users.add(user);
    if (this.#session !== undefined) this.#call(user);
  }

  #call(user: ChannelUser): void {
    user.onStream(
      this.#session!.request([
        [":method", "POST"],
        [":scheme", "http"],
        [":path", "/ProxyService/Proxy"],
        [":authority", "server"],
        ["content-type", "application/grpc"],
        ["user-agent", "caller"],
        ["te", "trailers"],
      ]),
    );
  }

  /** The last one closes the connection. */
  remove(user: ChannelUser): void {
    this.#users.delete(user);
    this.#host.after(IDLE_MS, "idle", () => {
      if (this.#users.size > 0 || this.isClosed) return;
      this.#onIdle();
      this.socket.destroySoon();
    });
  }
}

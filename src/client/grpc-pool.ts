/** Many tunnels on one connection to a gRPC frontend: no new socket and, over TCP, no new TLS handshake per dial. */
import type { OpenSession } from "../link/open.js";
import { canonicalTarget } from "./address.js";
import { type DialOptions, step, withinBounds } from "./bounds.js";
import type { Dialer } from "./dial.js";
import { frontendLost } from "./errors.js";
import { describeFrontend, type Frontend } from "./frontend.js";
import { dialOnSession, openGrpcSession } from "./grpc-session.js";
import type { TunnelSocket } from "./tunnel-socket.js";

/** For the shared connection, whoever asked for it first. */
const CONNECT_TIMEOUT_MS = 30_000;

export class GrpcTunnelPool implements Dialer {
  readonly #frontend: Frontend & { readonly mode: "grpc" };
  #session: Promise<OpenSession> | undefined;
  /** Dials and tunnels on each session; one without any keeps no process alive. */
  readonly #users = new WeakMap<OpenSession, number>();
  #closed = new AbortController();

  constructor(frontend: Frontend & { readonly mode: "grpc" }) {
    this.#frontend = frontend;
  }

  async dial(target: string, options: DialOptions = {}): Promise<TunnelSocket> {
    const address = canonicalTarget(target);
    return await withinBounds(address, options, async (stop) => {
      const open = await this.#open(stop);
      this.#use(open, +1);
      const onOver = (): void => this.#use(open, -1);
      // One tunnel's wish to let the process go cannot be granted while others share the connection.
      return await dialOnSession({ open, frontend: this.#frontend, address, onOver, setRef: () => {} }, stop);
    });
  }

  /** Ends the connection and with it every tunnel; a later dial opens a new one. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#closed.abort(frontendLost(describeFrontend(this.#frontend), "the pool was closed"));
    this.#closed = new AbortController();
    const open = await session?.catch(() => undefined);
    open?.session.destroy();
  }

  /** The session there is, or a new one when it is gone or the server asked us to leave. */
  async #open(stop: AbortSignal): Promise<OpenSession> {
    for (;;) {
      this.#session ??= this.#connect();
      const session = this.#session;
      const open = await step<OpenSession>(stop, (resolve, reject) => {
        session.then(resolve, reject);
        return () => {};
      });
      if (!open.session.closed && !open.session.destroyed) return open;
      if (this.#session === session) this.#session = undefined;
    }
  }

  #connect(): Promise<OpenSession> {
    const bounds = { signal: this.#closed.signal, timeoutMs: CONNECT_TIMEOUT_MS };
    const session = withinBounds(describeFrontend(this.#frontend), bounds, (stop) => {
      return openGrpcSession(this.#frontend, stop);
    });
    session.catch(() => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  #use(open: OpenSession, change: 1 | -1): void {
    const users = (this.#users.get(open) ?? 0) + change;
    this.#users.set(open, users);
    if (open.session.destroyed) return;
    if (users > 0) open.session.ref();
    else open.session.unref();
  }
}

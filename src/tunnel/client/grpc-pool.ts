/** Many tunnels on one connection to a gRPC frontend: no new socket and, over TCP, no new TLS handshake per dial. */

import { joinHostPort } from "../../base/address.js";
import type { Runtime } from "../../base/runtime.js";
import { openSession } from "../link/open.js";
import { step } from "../outgoing/connected.js";
import type { Dialer } from "./dial.js";
import { type DialOptions, dialWithinBounds, frontendLost, type InnerDialOptions, withinBounds } from "./errors.js";
import { canonicalTarget, describeFrontend, type Frontend } from "./frontend.js";
import { type FrontendSession, GrpcTunnel, type TunnelSocket } from "./grpc-tunnel.js";
import { reachFrontend } from "./transport.js";

/** For the shared connection, whoever asked for it first. */
const CONNECT_TIMEOUT_MS = 30_000;

export class GrpcTunnelPool implements Dialer {
  readonly #frontend: Frontend & { readonly mode: "grpc" };
  /** Open connections. There is more than one only while the server takes no more tunnels on the others. */
  #sessions: FrontendSession[] = [];
  #connecting: Promise<FrontendSession> | undefined;
  /** Dials and tunnels on each session; one without any keeps no process alive. */
  readonly #users = new WeakMap<FrontendSession, number>();
  #closed = new AbortController();

  constructor(frontend: Frontend & { readonly mode: "grpc" }) {
    this.#frontend = frontend;
  }

  async dial(target: string, options: DialOptions = {}): Promise<TunnelSocket> {
    const address = canonicalTarget(target);
    return await dialWithinBounds(address, options, async (stop) => {
      const open = await this.#join(stop);
      const onOver = (): void => this.#use(open, -1);
      // One tunnel's wish to let the process go cannot be granted while others share the connection.
      const dial = { frontend: this.#frontend, address, dialId: options.dialId };
      return await new GrpcTunnel({ ...dial, open, onOver, setRef: () => {} }).dial(stop);
    });
  }

  /** Ends the connections and with them every tunnel; a later dial opens a new one. */
  async close(): Promise<void> {
    const connecting = this.#connecting;
    this.#connecting = undefined;
    this.#closed.abort(frontendLost(describeFrontend(this.#frontend), "the pool was closed"));
    this.#closed = new AbortController();
    for (const { session } of this.#sessions.splice(0)) session.destroy();
    const late = await connecting?.catch(() => undefined);
    late?.session.destroy();
  }

  /** A session that takes one more tunnel, which is counted already; a new one when there is none. */
  async #join(stop: AbortSignal): Promise<FrontendSession> {
    for (;;) {
      const open = this.#sessions.find((each) => this.#hasRoom(each));
      if (open !== undefined) {
        this.#use(open, +1);
        return open;
      }
      this.#connecting ??= this.#connect();
      const connecting = this.#connecting;
      const fresh = await step<FrontendSession>(stop, (resolve, reject) => {
        connecting.then(resolve, reject);
        return () => {};
      });
      if (fresh.session.peerMaxStreams < 1) {
        throw frontendLost(describeFrontend(this.#frontend), "it takes no streams on its connections");
      }
    }
  }

  #hasRoom(open: FrontendSession): boolean {
    return !open.session.closed && (this.#users.get(open) ?? 0) < open.session.peerMaxStreams;
  }

  #connect(): Promise<FrontendSession> {
    const bounds = { signal: this.#closed.signal, timeoutMs: CONNECT_TIMEOUT_MS };
    const connecting = withinBounds(describeFrontend(this.#frontend), bounds, async (stop) => {
      const open = await openGrpcSession(this.#frontend, stop);
      this.#sessions.push(open);
      open.session.once("close", () => {
        this.#sessions = this.#sessions.filter((each) => each !== open);
      });
      return open;
    });
    const over = (): void => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    };
    connecting.then(over, over);
    return connecting;
  }

  #use(open: FrontendSession, change: 1 | -1): void {
    const users = (this.#users.get(open) ?? 0) + change;
    this.#users.set(open, users);
    const { session } = open;
    if (session.destroyed) return;
    if (users > 0) session.ref();
    // One that was opened because the others were full is not needed any more.
    else if (this.#sessions.some((other) => other !== open && this.#hasRoom(other))) session.close();
    else session.unref();
  }
}

async function openGrpcSession(frontend: Frontend, stop: AbortSignal, runtime?: Runtime): Promise<FrontendSession> {
  const { socket, tls } = await reachFrontend(frontend, { alpn: ["h2"], allowHalfOpen: false, runtime }, stop);
  // Servers do not read the authority; a socket's path would not be allowed in it.
  return "uds" in frontend
    ? openSession(socket, "localhost", "http", undefined, runtime)
    : {
        ...openSession(socket, joinHostPort(frontend.host, frontend.port), "https", undefined, runtime),
        ...(tls && { tls }),
      };
}

/** A dial on a session of its own, as kube-apiserver does it. */
export async function dialGrpc(
  frontend: Frontend,
  address: string,
  { onFrontend, dialId, runtime }: Pick<InnerDialOptions, "onFrontend" | "dialId" | "runtime">,
  stop: AbortSignal,
): Promise<TunnelSocket> {
  const open = await openGrpcSession(frontend, stop, runtime);
  onFrontend?.();
  const { session } = open;
  const setRef = (on: boolean): void => (on ? session.ref() : session.unref());
  return await new GrpcTunnel({ open, frontend, address, dialId, onOver: () => session.destroy(), setRef }).dial(stop);
}

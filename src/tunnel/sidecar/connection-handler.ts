/** What every listener does for its clients, whatever they speak: dial for them, join the two ends, publish what happened. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { joinHostPort } from "../../base/address.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { ShortLivedMap, ShortLivedSet } from "../../base/short-lived.js";
import {
  type ClientRequestKind,
  connectionClosed,
  type RequestDecided,
  type RequestOutcome,
  requestDecided,
} from "./channels.js";
import type { ClientLimits, ProxyListenerConfig } from "./config.js";
import type { ConnectionLimit } from "./connection-limit.js";
import { type ClientRefusal, closeLingering, dialFailureOf } from "./refusals.js";
import { Relay, type Traffic } from "./relay.js";
import type { Target } from "./routing/errors.js";
import type { Router } from "./routing/router.js";

/** Whoever left does not want the dial any more. */
const CLIENT_GONE = new Error("the client hung up");

/** For the sockets of clients. Half-open, so that the end of what one side sends leaves the other direction alone. */
export const SOCKET_OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  // A client that vanished is noticed although nothing is sent.
  keepAlive: true,
  keepAliveInitialDelay: 15_000,
} as const;

export interface ConnectionHandlerOptions {
  readonly source: object;
  readonly config: ProxyListenerConfig;
  readonly limits: ClientLimits;
  readonly limit: ConnectionLimit;
  readonly router: Pick<Router, "open" | "routeHttp">;
  /** Default: the system's. */
  readonly runtime?: Runtime | undefined;
}

/** What a client came for, once its target is known; times by the runtime's clock. */
export interface TargetRequest {
  readonly target: Target;
  readonly address: string;
  readonly frontend: ClientRequestKind;
  readonly listener: string;
  readonly askedAt: number;
  /** 0 until something is dialled: an answer over a connection that was kept needs no number. */
  id: number;
  dialledAt: number;
  /** How long the target took; undefined while it has not been connected. */
  dialMs: number | undefined;
}

/** A client and its target. */
export interface RelayedConnection {
  readonly relay: Relay;
  /** Kept when the connection is long over, so without the relay. */
  readonly info: TargetRequest & { readonly openedAt: number };
}

export class ConnectionHandler {
  readonly traffic: Traffic = { toTarget: 0, fromTarget: 0 };
  readonly limits: ClientLimits;
  readonly limit: ConnectionLimit;
  readonly router: Pick<Router, "open" | "routeHttp">;
  readonly runtime: Runtime;
  readonly #source: object;
  readonly #listener: string;
  /** Joined pairs whose ends are not both closed. */
  readonly connections = new ShortLivedSet<RelayedConnection>();
  /** Requests whose targets are being dialled, by their number; never more than there are clients. */
  readonly dials = new ShortLivedMap<number, TargetRequest>();

  constructor({ source, config, limits, limit, router, runtime = systemRuntime }: ConnectionHandlerOptions) {
    this.#source = source;
    this.#listener = config.name;
    this.limits = limits;
    this.limit = limit;
    this.router = router;
    this.runtime = runtime;
  }

  requestFor(kind: ClientRequestKind, target: Target): TargetRequest {
    return {
      ...{ target, address: joinHostPort(target.host, target.port), frontend: kind, listener: this.#listener },
      ...{ askedAt: this.runtime.now(), id: 0, dialledAt: 0, dialMs: undefined },
    };
  }

  /** Rejects with whatever the router rejects with. The dial ends with the client, but not with the end of what it sends. */
  async dial(request: TargetRequest, client: Duplex, open: (stop: AbortSignal) => Promise<Duplex>): Promise<Duplex> {
    const stop = new AbortController();
    const onClose = (): void => stop.abort(CLIENT_GONE);
    client.once("close", onClose);
    request.id ||= this.limit.nextId();
    request.dialledAt = this.runtime.now();
    this.dials.set(request.id, request);
    try {
      if (client.destroyed) throw CLIENT_GONE;
      const stream = await open(stop.signal);
      if (client.destroyed) {
        stream.destroy();
        throw CLIENT_GONE;
      }
      request.dialMs = this.runtime.now() - request.dialledAt;
      return stream;
    } finally {
      client.off("close", onClose);
      const forget = (): void => void this.dials.delete(request.id);
      // Whether the protocol changes is for the target to say; until then the client has no connection.
      if (request.frontend === "upgrade" && request.dialMs !== undefined) client.once("close", forget);
      else forget();
    }
  }

  /** Dials the target and joins the client with it. `answers` are what the client's protocol says to each outcome. */
  async connect(
    kind: ClientRequestKind,
    target: Target,
    client: Socket,
    answers: {
      established(stream: Duplex): string | Uint8Array;
      failed(failure: ClientRefusal): string | Uint8Array;
    },
  ): Promise<void> {
    const request = this.requestFor(kind, target);
    try {
      const stream = await this.dial(request, client, (stop) => this.router.open(target, stop));
      this.established(request);
      client.write(answers.established(stream), "latin1");
      this.relay(request, client, stream);
    } catch (reason) {
      this.failed(request, reason);
      closeLingering(client, answers.failed(dialFailureOf(reason)), this.runtime);
    }
  }

  /** A plain HTTP request is answered, not joined. */
  relay(request: TargetRequest, client: Duplex, far: Duplex): void {
    const since = this.runtime.now();
    const relay: Relay = new Relay(client, far, {
      runtime: this.runtime,
      traffic: this.traffic,
      idleTimeoutMs: this.limits.idleTimeoutMs,
      onEnd: ({ toTarget, fromTarget, error }) => {
        leave();
        connectionClosed.publish({
          source: this.#source,
          connection,
          listener: this.#listener,
          target: request.address,
          durationMs: this.runtime.now() - since,
          bytesToTarget: toTarget,
          bytesFromTarget: fromTarget,
          error,
        });
      },
    });
    const connection: RelayedConnection = { relay, info: { ...request, openedAt: since } };
    const leave = this.connections.add(connection);
  }

  established(request: TargetRequest): void {
    this.dials.delete(request.id);
    const { address: target, dialMs, frontend: kind } = request;
    this.#decided({ kind, outcome: "established", error: "", target, dialMs, request });
  }

  /** The dial failed, or the client left before it was done. */
  failed(request: TargetRequest, reason: unknown): void {
    this.dials.delete(request.id);
    const { address: target, frontend: kind } = request;
    const isGone = reason === CLIENT_GONE;
    const { outcome, text, code } = isGone
      ? { outcome: "abandoned" as const, text: CLIENT_GONE.message }
      : dialFailureOf(reason);
    this.#decided({ kind, outcome, error: text, code, target, request });
  }

  refused(kind: ClientRequestKind, outcome: RequestOutcome, error: string): void {
    this.#decided({ kind, outcome, error });
  }

  /** Cuts every joined connection, so that both peers notice. */
  destroy(): void {
    for (const { relay } of this.connections) relay.cut("the sidecar ended");
  }

  #decided(decision: Omit<RequestDecided, "source" | "listener">): void {
    requestDecided.publish({ source: this.#source, listener: this.#listener, ...decision });
  }
}

/** One connection that a listener accepted, and the listener with what it may hold. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { Connections } from "./connections.js";

export interface ListenerLimits {
  /** For the TLS handshake. Default 10 s. */
  readonly handshakeTimeoutMs?: number;
  /** For the first request, from the end of the handshake on. Default 60 s; 0: whoever reads the request sees to it. */
  readonly requestTimeoutMs?: number;
  /** Most pending connections. Default 1024. */
  readonly maxPending?: number;
  /** Most connections. Default: only the limit of descriptors. */
  readonly maxConnections?: number;
  /** Whether the handshake verifies a certificate of the peer. */
  readonly clientCertificates?: boolean;
  /** For health checks and administrators: they are served from the descriptors kept back, and count for themselves. */
  readonly isEssential?: boolean;
}

/** Why a connection was closed before its time. */
export type CloseReason =
  | "handshake-timeout"
  | "request-timeout"
  | "pending-limit"
  | "connection-limit"
  | "descriptor-limit";

export interface ClosedConnection {
  readonly listener: string;
  readonly remote: string;
  readonly reason: CloseReason;
}

export const DEFAULT_MAX_PENDING = 1024;
const DEFAULT_LIMITS: Required<ListenerLimits> = {
  handshakeTimeoutMs: 10_000,
  // Go's own limit for a request's head.
  requestTimeoutMs: 60_000,
  maxPending: DEFAULT_MAX_PENDING,
  maxConnections: Number.POSITIVE_INFINITY,
  clientCertificates: false,
  isEssential: false,
};

const CONNECTION = Symbol("connection");
type Tracked = Socket & { [CONNECTION]?: Connection };

/** The connection of a socket that a listener of this process accepted; also for the TLS socket around it. */
export function connectionOf(socket: Socket): Connection | undefined {
  const { [CONNECTION]: own } = socket as Tracked;
  // Node keeps the socket that a TLS socket was made of under this name, and nowhere else.
  return own ?? (socket as unknown as { _parent?: Tracked | null })._parent?.[CONNECTION];
}

export class Connection {
  /** Kept by the list it is in, like its neighbours there. */
  list: ConnectionList | undefined;
  before: Connection | undefined;
  after: Connection | undefined;
  /** Without its port; undefined for Unix sockets. */
  readonly remoteHost: string | undefined;
  /** `host:port`, or `unix`. Unlike the socket it can also be asked when the connection is gone. */
  readonly remote: string;
  /** Time by the clock of its `Connections`. */
  readonly acceptedAt: number;
  /** Deadline in the time that `Connections` counts. */
  deadline = Number.POSITIVE_INFINITY;
  isHandshaking: boolean;
  isOpen = true;
  readonly socket: Socket;
  readonly #listener: Listener;
  #isAsked = false;
  #requests = 0;

  constructor(socket: Socket, listener: Listener, acceptedAt: number) {
    this.socket = socket;
    this.#listener = listener;
    this.acceptedAt = acceptedAt;
    this.isHandshaking = listener.isTls;
    const { remoteAddress, remotePort } = socket;
    this.remoteHost = remoteAddress;
    this.remote =
      remoteAddress === undefined ? (listener.isUnix ? "unix" : "unknown") : `${remoteAddress}:${remotePort}`;
  }

  /** A request came whose sender has to be found out: that may take as long again as the request itself. */
  requestReceived(): void {
    if (this.#isAsked || this.list === undefined) return;
    this.#isAsked = true;
    this.deadline = this.#listener.requestDeadline();
  }

  /** Its peer is known and has said what it wants: nobody closes it any more for being late, or for being one too many. */
  admitted(): void {
    this.list?.remove(this);
  }

  /** An HTTP request has come; it may be followed by others before it is answered. */
  requestBegan(): void {
    this.#requests++;
    this.#listener.busy.append(this);
  }

  /** Between two requests a connection may be closed when there are too many. How long it may wait is Node's to say. */
  requestEnded(): void {
    this.#requests--;
    if (!this.isOpen || this.#requests > 0) return;
    this.deadline = Number.POSITIVE_INFINITY;
    this.#listener.pending.append(this);
  }

  close(reason: CloseReason): void {
    if (!this.isOpen) return;
    this.forget();
    this.#listener.onClosed({ listener: this.#listener.name, remote: this.remote, reason });
    // At once: what the peer has not sent yet is of no interest, and the descriptor is wanted.
    this.socket.destroy();
  }

  /** The handshake has ended well. */
  secured(): void {
    if (!this.isHandshaking) return;
    this.isHandshaking = false;
    if (this.list === undefined) return;
    this.deadline = this.#listener.requestDeadline();
    if (this.#listener.limits.clientCertificates) this.#listener.known.append(this);
  }

  /** It is closed. */
  forget(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.list?.remove(this);
    this.#listener.left();
  }
}

/** Remembers it with its socket, until that is closed. */
export function track(socket: Tracked, listener: Listener, acceptedAt: number): Connection {
  const connection = new Connection(socket, listener, acceptedAt);
  socket[CONNECTION] = connection;
  socket.once("close", onSocketClose);
  return connection;
}

function onSocketClose(this: Tracked): void {
  this[CONNECTION]?.forget();
}

export function onSecure(socket: Socket): void {
  connectionOf(socket)?.secured();
}

type Answer = ServerResponse & { [CONNECTION]?: Connection | undefined };

function onRequest(request: IncomingMessage, response: Answer): void {
  const connection = connectionOf(request.socket);
  connection?.requestBegan();
  // Afterwards neither the request nor the answer knows its socket.
  response[CONNECTION] = connection;
  response.once("close", onAnswered);
}

function onAnswered(this: Answer): void {
  this[CONNECTION]?.requestEnded();
}

/** The connection is not HTTP's any more. */
function onTakenOver(request: IncomingMessage): void {
  connectionOf(request.socket)?.admitted();
}

/** For HTTP servers, whose connections are free again between two requests. */
export function followRequests(server: HttpServer): void {
  // Node itself does what is right for the others as long as nobody listens to them.
  const heard = (event: string): boolean => server.listenerCount(event) > 0;
  // Before whoever answers, so that a connection does not count as idle while it is being asked.
  for (const event of ["request", "checkContinue"].filter(heard)) server.prependListener(event, onRequest);
  for (const event of ["connect", "upgrade"].filter(heard)) server.prependListener(event, onTakenOver);
}

/** One listener and its connections. */
export class Listener {
  readonly name: string;
  readonly isTls: boolean;
  readonly isUnix: boolean;
  readonly limits: Required<ListenerLimits>;
  readonly closed: Partial<Record<CloseReason, number>> = {};
  /** Connections whose peer is not known, by age. */
  readonly pending = new ConnectionList();
  /** Connections of peers with a good certificate that have not sent a request yet. */
  readonly known = new ConnectionList();
  /** Connections with an HTTP request in progress, in the order of the requests. */
  readonly busy = new ConnectionList();
  open = 0;
  readonly #all: Connections;

  constructor(all: Connections, server: Server, name: string, isUnix: boolean, limits: ListenerLimits) {
    this.#all = all;
    this.name = name;
    this.isUnix = isUnix;
    this.isTls = "setSecureContext" in server;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
  }

  requestDeadline(): number {
    const { requestTimeoutMs } = this.limits;
    return requestTimeoutMs === 0 ? Number.POSITIVE_INFINITY : this.#all.deadlineIn(requestTimeoutMs);
  }

  left(): void {
    this.open--;
    this.#all.held--;
  }

  onClosed(closed: ClosedConnection): void {
    this.closed[closed.reason] = (this.closed[closed.reason] ?? 0) + 1;
    this.#all.report(closed);
  }
}

/**
 * Connections in the order in which they were added, each in at most one list: the first, the next and the removal cost the
 * same for any length.
 */
export class ConnectionList {
  size = 0;
  first: Connection | undefined;
  #last: Connection | undefined;

  /** Behind all others; whatever list it was in before lets it go. */
  append(item: Connection): void {
    item.list?.remove(item);
    item.list = this;
    item.before = this.#last;
    if (this.#last === undefined) this.first = item;
    else this.#last.after = item;
    this.#last = item;
    this.size++;
  }

  remove(item: Connection): void {
    if (item.list !== this) return;
    if (item.before === undefined) this.first = item.after;
    else item.before.after = item.after;
    if (item.after === undefined) this.#last = item.before;
    else item.after.before = item.before;
    item.list = item.before = item.after = undefined;
    this.size--;
  }
}

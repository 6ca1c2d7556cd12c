/**
 * The connections that the listeners of this process hold.
 *
 * A connection is pending until its peer is known: until the TLS handshake has verified its certificate or, where none is
 * asked for, until its first request was accepted. Pending connections have a deadline and a number that they may not
 * exceed, for each listener and in all; when there are more, the oldest is closed, so that somebody who opens many keeps
 * nobody else out. The same happens when the process runs out of file descriptors: some are kept back for what has to go
 * on, such as the health port.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { type Descriptors, processDescriptors } from "./descriptors.js";
import { LinkedList, type ListItem } from "./linked-list.js";

export interface ListenerLimits {
  /** For the TLS handshake. Default 10 s. */
  readonly handshakeTimeoutMs?: number;
  /** For the first request, from the end of the handshake on. Default 60 s; 0: whoever reads the request sees to it. */
  readonly requestTimeoutMs?: number;
  /** Of pending connections. Default 1024. */
  readonly maxPending?: number;
  /** Of all connections. Default: no other than that of the descriptors. */
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

/** The time as `Connections` needs it; the `Clock` of tunnels is one. */
export interface Timer {
  now(): number;
  after(ms: number, action: () => void): () => void;
}

export const DEFAULT_HANDSHAKE_TIMEOUT_MS = 10_000;
export const DEFAULT_MAX_PENDING = 1024;
/** Go's own limit for a request's head. */
const REQUEST_TIMEOUT_MS = 60_000;

const CHECK_INTERVAL_MS = 500;
/**
 * What one check adds at most to the age of pending connections. When a thousand peers connect at once, this process may
 * need seconds for one turn of its event loop; a peer is not late because of that.
 */
const LONGEST_STEP_MS = 2 * CHECK_INTERVAL_MS;

/** For this long after a connection was closed for want of room the process calls itself full. */
const FULL_FOR_MS = 10_000;

/** How often the open descriptors are counted, at most. */
const COUNT_INTERVAL_MS = 1_000;

const CONNECTION = Symbol("connection");
type Tracked = Socket & { [CONNECTION]?: Connection };

/** What is known of a socket that a listener of this process accepted; also of the TLS socket around it. */
export function connectionOf(socket: Socket): Connection | undefined {
  const { [CONNECTION]: own } = socket as Tracked;
  // Node keeps the socket that a TLS socket was made of under this name, and nowhere else.
  return own ?? (socket as unknown as { _parent?: Tracked | null })._parent?.[CONNECTION];
}

export class Connection implements ListItem<Connection> {
  list: LinkedList<Connection> | undefined;
  before: Connection | undefined;
  after: Connection | undefined;
  /** `host:port`, or `unix`: it can be asked for as long as anybody remembers the connection. */
  readonly remote: string;
  /** By the clock of its `Connections`. */
  readonly acceptedAt: number;
  /** In time as `Connections` counts it. */
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
    this.remote =
      remoteAddress === undefined ? (listener.isUnix ? "unix" : "unknown") : `${remoteAddress}:${remotePort}`;
  }

  /** A request came whose sender has to be found out: that may take as long again as the request itself. */
  asked(): void {
    if (this.#isAsked || this.list === undefined) return;
    this.#isAsked = true;
    this.deadline = this.#listener.requestDeadline();
  }

  /** Its peer is known and has said what it wants: nobody closes it any more for being late, or for being one too many. */
  settled(): void {
    this.list?.remove(this);
  }

  /** An HTTP request has come; it may be followed by others before it is answered. */
  requestBegan(): void {
    this.#requests++;
    this.settled();
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

  secured(): void {
    if (!this.isHandshaking) return;
    this.isHandshaking = false;
    if (this.list === undefined) return;
    this.deadline = this.#listener.requestDeadline();
    if (this.#listener.clientCertificates) this.#listener.known.append(this);
  }

  forget(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.list?.remove(this);
    this.#listener.left();
  }
}

function onSocketClose(this: Tracked): void {
  this[CONNECTION]?.forget();
}

function onSecure(socket: Socket): void {
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
  connectionOf(request.socket)?.settled();
}

function followRequests(server: HttpServer): void {
  for (const event of ["request", "checkContinue"]) server.on(event, onRequest);
  for (const event of ["connect", "upgrade"]) if (server.listenerCount(event) > 0) server.on(event, onTakenOver);
}

/** What a scrape reads. */
export interface ListenerReading {
  readonly name: string;
  readonly open: number;
  readonly pending: number;
  readonly closed: Readonly<Partial<Record<CloseReason, number>>>;
}

/** One listener's part of `Connections`. */
class Listener {
  readonly name: string;
  readonly isTls: boolean;
  readonly isUnix: boolean;
  readonly clientCertificates: boolean;
  readonly isEssential: boolean;
  readonly maxPending: number;
  readonly maxConnections: number;
  readonly handshakeTimeoutMs: number;
  readonly closed: Partial<Record<CloseReason, number>> = {};
  /** By age. */
  readonly pending = new LinkedList<Connection>();
  /** Whose certificate is good, but who have not asked for anything yet. */
  readonly known = new LinkedList<Connection>();
  open = 0;
  readonly #requestTimeoutMs: number;
  readonly #all: Connections;

  constructor(all: Connections, server: Server, name: string, isUnix: boolean, limits: ListenerLimits) {
    this.#all = all;
    this.name = name;
    this.isUnix = isUnix;
    this.isTls = "setSecureContext" in server;
    this.clientCertificates = limits.clientCertificates ?? false;
    this.isEssential = limits.isEssential ?? false;
    this.maxPending = limits.maxPending ?? DEFAULT_MAX_PENDING;
    this.maxConnections = limits.maxConnections ?? Number.POSITIVE_INFINITY;
    this.handshakeTimeoutMs = limits.handshakeTimeoutMs ?? DEFAULT_HANDSHAKE_TIMEOUT_MS;
    this.#requestTimeoutMs = limits.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  requestDeadline(): number {
    return this.#requestTimeoutMs === 0 ? Number.POSITIVE_INFINITY : this.#all.deadlineIn(this.#requestTimeoutMs);
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

export interface ConnectionsOptions {
  readonly timer?: Timer;
  readonly descriptors?: Descriptors;
}

export class Connections {
  /** Sockets that listeners accepted and that are open. */
  held = 0;
  readonly #timer: Timer;
  readonly #descriptors: Descriptors;
  /** Kept back from all but health checks and administrators, who leave a quarter of it to the rest of the process. */
  readonly #reserve: number;
  readonly #listeners: Listener[] = [];
  readonly #observers = new Set<(closed: ClosedConnection) => void>();
  /** Only grows while somebody waits for a deadline, and never faster than this process works. */
  #time = 0;
  #checkedAt = 0;
  #cancelCheck: (() => void) | undefined;
  /** Descriptors of others than `held`. */
  #others = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #fullAt = Number.NEGATIVE_INFINITY;
  #fullBecause = "";

  constructor({ timer = processTimer, descriptors = processDescriptors }: ConnectionsOptions = {}) {
    this.#timer = timer;
    this.#descriptors = descriptors;
    this.#reserve = Math.min(64, Math.max(16, Math.floor(descriptors.limit / 8)));
  }

  /** Before the server listens. `name` is what people know the listener by. */
  watch(server: Server, name: string, isUnix: boolean, limits: ListenerLimits): void {
    const listener = new Listener(this, server, name, isUnix, limits);
    this.#listeners.push(listener);
    server.on("connection", (socket: Socket) => this.#accept(listener, socket));
    if (listener.isTls) server.on("secureConnection", onSecure);
    if ("closeIdleConnections" in server) followRequests(server as HttpServer);
    server.once("close", () => this.#listeners.splice(this.#listeners.indexOf(listener), 1));
  }

  /** The answer ends it. */
  subscribe(observer: (closed: ClosedConnection) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Listeners of one name are added up. */
  readings(): readonly ListenerReading[] {
    const sums = new Map<string, ListenerReading>();
    for (const { name, open, pending, known, closed } of this.#listeners) {
      const { open: others = 0, pending: othersPending = 0, closed: othersClosed = {} } = sums.get(name) ?? {};
      const sum: Partial<Record<CloseReason, number>> = { ...othersClosed };
      for (const [reason, count] of Object.entries(closed) as [CloseReason, number][]) {
        sum[reason] = (sum[reason] ?? 0) + count;
      }
      sums.set(name, { name, open: open + others, pending: pending.size + known.size + othersPending, closed: sum });
    }
    return [...sums.values()];
  }

  /** A sentence's end that says what there is too much of; undefined when there is room. */
  get full(): string | undefined {
    return this.#timer.now() - this.#fullAt < FULL_FOR_MS ? this.#fullBecause : undefined;
  }

  report(closed: ClosedConnection): void {
    const { listener, reason } = closed;
    if (!reason.endsWith("timeout")) {
      this.#fullAt = this.#timer.now();
      this.#fullBecause =
        reason === "descriptor-limit"
          ? `the process is about to reach its limit of ${this.#descriptors.limit} open files`
          : `the ${listener} listener has as many ${reason === "pending-limit" ? "unfinished " : ""}connections as it may have`;
    }
    for (const observer of this.#observers) observer(closed);
  }

  deadlineIn(ms: number): number {
    if (this.#cancelCheck === undefined) this.#scheduleCheck();
    // Part of the step that is under way is over already.
    return this.#time + CHECK_INTERVAL_MS + ms;
  }

  #accept(listener: Listener, socket: Tracked): void {
    const connection = new Connection(socket, listener, this.#timer.now());
    socket[CONNECTION] = connection;
    socket.once("close", onSocketClose);
    listener.open++;
    this.held++;
    connection.deadline = listener.isTls ? this.deadlineIn(listener.handshakeTimeoutMs) : listener.requestDeadline();
    listener.pending.append(connection);
    this.#makeRoom(listener, connection);
  }

  /** False: none is pending. */
  closeOldestPending(reason: CloseReason): boolean {
    const oldest = this.#oldest();
    oldest?.close(reason);
    return oldest !== undefined;
  }

  /** Closes the oldest that is pending wherever there is one too many; the newcomer itself only when nobody else is. */
  #makeRoom(listener: Listener, newcomer: Connection): void {
    const { pending } = listener;
    if (pending.size > listener.maxPending) pending.first?.close("pending-limit");
    if (listener.open > listener.maxConnections) pending.first?.close("connection-limit");
    if (!listener.isEssential && this.#pendingInAll() > this.#maxPendingInAll()) this.#oldest()?.close("pending-limit");
    if (!newcomer.isOpen || this.#free() >= (listener.isEssential ? this.#reserve / 4 : this.#reserve)) return;
    const oldest = listener.isEssential
      ? pending.first === newcomer
        ? this.#oldest()
        : pending.first
      : this.#oldest();
    (oldest ?? newcomer).close("descriptor-limit");
  }

  #pendingInAll(): number {
    let sum = 0;
    for (const { isEssential, pending } of this.#listeners) if (!isEssential) sum += pending.size;
    return sum;
  }

  /** Twice what one listener may have. */
  #maxPendingInAll(): number {
    let largest = 0;
    for (const { isEssential, maxPending } of this.#listeners)
      if (!isEssential) largest = Math.max(largest, maxPending);
    return 2 * largest;
  }

  #oldest(): Connection | undefined {
    let oldest: Connection | undefined;
    for (const { isEssential, pending } of this.#listeners) {
      const { first } = pending;
      if (isEssential || first === undefined) continue;
      if (oldest === undefined || first.acceptedAt < oldest.acceptedAt) oldest = first;
    }
    return oldest;
  }

  /** Descriptors that may still be opened. Counting them all takes a while, so it is done seldom, and only when few are left. */
  #free(): number {
    const { limit } = this.#descriptors;
    if (limit === Number.POSITIVE_INFINITY) return limit;
    const now = this.#timer.now();
    if (this.#others + this.held > limit / 2 && now - this.#countedAt >= COUNT_INTERVAL_MS) {
      this.#countedAt = now;
      this.#others = Math.max(0, (this.#descriptors.count() ?? this.held) - this.held);
    }
    return limit - this.#others - this.held;
  }

  #scheduleCheck(): void {
    this.#checkedAt = this.#timer.now();
    this.#cancelCheck = this.#timer.after(CHECK_INTERVAL_MS, () => this.#check());
  }

  #check(): void {
    this.#cancelCheck = undefined;
    this.#time += Math.min(this.#timer.now() - this.#checkedAt, LONGEST_STEP_MS);
    let isAnyoneWaiting = false;
    for (const { pending, known } of this.#listeners) {
      for (const list of [pending, known]) {
        for (let each = list.first; each !== undefined; ) {
          const next: Connection | undefined = each.after;
          if (this.#time >= each.deadline) each.close(each.isHandshaking ? "handshake-timeout" : "request-timeout");
          else if (each.deadline !== Number.POSITIVE_INFINITY) isAnyoneWaiting = true;
          each = next;
        }
      }
    }
    if (isAnyoneWaiting) this.#scheduleCheck();
  }
}

// As they were when the process began: a test that replaces them does not mean this.
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

const processTimer: Timer = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = startTimer(action, ms);
    timer.unref();
    return () => stopTimer(timer);
  },
};

/** Those of this process. */
export const processConnections = new Connections();

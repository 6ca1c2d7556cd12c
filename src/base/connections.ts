/**
 * The connections that the listeners of this process hold.
 *
 * A connection is pending until its peer is known: until whoever judges its certificate has found it good or, where none
 * is asked for, until its first request was accepted. Pending connections have a deadline and a number that they may not
 * exceed, for each listener and in all; when there are more, the oldest is closed, so that somebody who opens many keeps
 * nobody else out. The same happens when the process runs out of file descriptors: some are kept back for what has to go
 * on, such as the health port.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { joinHostPort } from "./address.js";
import { type Clock, systemClock } from "./clock.js";

const CHECK_INTERVAL_MS = 500;
/**
 * What one check adds at most to the age of pending connections. When a thousand peers connect at once, this process may
 * need seconds for one turn of its event loop; a peer is not late because of that.
 */
const LONGEST_STEP_MS = 2 * CHECK_INTERVAL_MS;

/** For this long after a connection was closed because there were too many, the process reports itself as full. */
const FULL_FOR_MS = 10_000;

/** How often the open descriptors are counted, at most. */
const COUNT_INTERVAL_MS = 1_000;

/** Figures of one listener, for metrics. */
export interface ListenerReading {
  readonly name: string;
  readonly open: number;
  readonly pending: number;
  readonly closed: Readonly<Partial<Record<CloseReason, number>>>;
}

export class Connections {
  /** Sockets that listeners accepted and that are open. */
  held = 0;
  readonly #clock: Clock;
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

  constructor({
    clock = systemClock,
    descriptors = processDescriptors,
  }: { clock?: Clock; descriptors?: Descriptors } = {}) {
    this.#clock = clock;
    this.#descriptors = descriptors;
    this.#reserve = Math.min(64, Math.max(16, Math.floor(descriptors.limit / 8)));
  }

  /** From now on; before the server has accepted any. `name` is what people know the listener by. */
  watch(server: Server, name: string, isUnix: boolean, limits: ListenerLimits): void {
    const listener = new Listener(this, server, name, isUnix, limits);
    this.#listeners.push(listener);
    server.on("connection", (socket: Socket) => this.#accept(listener, socket));
    if (listener.isTls) server.on("secureConnection", onSecure);
    if ("closeIdleConnections" in server) followRequests(server as HttpServer);
    server.once("close", () => this.#listeners.splice(this.#listeners.indexOf(listener), 1));
  }

  /** The returned function ends the subscription. */
  subscribe(observer: (closed: ClosedConnection) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Listeners of one name are added up. */
  readings(): readonly ListenerReading[] {
    const sums = new Map<string, ListenerReading>();
    for (const { name, open, pending, known, closed } of this.#listeners) {
      const others = sums.get(name) ?? { open: 0, pending: 0, closed: {} };
      const sum: Partial<Record<CloseReason, number>> = { ...others.closed };
      for (const [reason, count] of Object.entries(closed) as [CloseReason, number][]) {
        sum[reason] = (sum[reason] ?? 0) + count;
      }
      const waiting = pending.size + known.size + others.pending;
      sums.set(name, { name, open: open + others.open, pending: waiting, closed: sum });
    }
    return [...sums.values()];
  }

  /** Whether the listener has a connection that was accepted less than so long ago and has not asked for anything yet. */
  hasNewcomers(server: Server, withinMs: number): boolean {
    const since = this.#clock.now() - withinMs;
    for (const { server: own, pending, known } of this.#listeners) {
      if (own !== server) continue;
      for (const { first } of [pending, known]) {
        for (let each = first; each !== undefined; each = each.after) if (each.acceptedAt > since) return true;
      }
    }
    return false;
  }

  /** What there is too much of, as the end of a sentence; undefined when there is nothing. */
  get full(): string | undefined {
    return this.#clock.now() - this.#fullAt < FULL_FOR_MS ? this.#fullBecause : undefined;
  }

  report(closed: ClosedConnection): void {
    const { listener, reason } = closed;
    if (!reason.endsWith("timeout")) {
      this.#fullAt = this.#clock.now();
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

  #accept(listener: Listener, socket: Socket): void {
    const connection = track(socket, listener, this.#clock.now());
    listener.open++;
    this.held++;
    connection.deadline = listener.isTls
      ? this.deadlineIn(listener.limits.handshakeTimeoutMs)
      : listener.requestDeadline();
    listener.pending.append(connection);
    this.#makeRoom(listener, connection);
  }

  /** Answers the socket that was closed; undefined: none was pending. */
  closeOldestPending(reason: CloseReason): Socket | undefined {
    const oldest = this.#oldest();
    oldest?.close(reason);
    return oldest?.socket;
  }

  /** Closes the oldest that is pending wherever there is one too many; the newcomer itself only when nobody else is. */
  #makeRoom(listener: Listener, newcomer: Connection): void {
    const { pending } = listener;
    const { maxPending, maxConnections, isEssential } = listener.limits;
    if (pending.size > maxPending) pending.first?.close("pending-limit");
    if (listener.open > maxConnections) this.#dispensable(listener, newcomer).close("connection-limit");
    if (!isEssential && this.#hasTooManyPending()) this.#oldest()?.close("pending-limit");
    if (!newcomer.isOpen || this.#free() >= (isEssential ? this.#reserve / 4 : this.#reserve)) return;
    const isOwn = isEssential && pending.first !== newcomer;
    ((isOwn ? pending.first : this.#oldest()) ?? newcomer).close("descriptor-limit");
  }

  /** Health is asked for by whoever comes last; elsewhere a request that is under way is worth more than a newcomer. */
  #dispensable({ limits, pending, busy }: Listener, newcomer: Connection): Connection {
    if (pending.first !== undefined && pending.first !== newcomer) return pending.first;
    return (limits.isEssential ? busy.first : undefined) ?? newcomer;
  }

  /** All listeners together may have twice as many as one. */
  #hasTooManyPending(): boolean {
    let [sum, most] = [0, 0];
    for (const { limits, pending } of this.#listeners) {
      if (limits.isEssential) continue;
      sum += pending.size;
      most = Math.max(most, limits.maxPending);
    }
    return sum > 2 * most;
  }

  #oldest(): Connection | undefined {
    let oldest: Connection | undefined;
    for (const { limits, pending } of this.#listeners) {
      const { first } = pending;
      if (limits.isEssential || first === undefined) continue;
      if (oldest === undefined || first.acceptedAt < oldest.acceptedAt) oldest = first;
    }
    return oldest;
  }

  /** Descriptors that may still be opened. Counting them all takes a while, so it is done seldom, and only when few are left. */
  #free(): number {
    const { limit } = this.#descriptors;
    if (limit === Number.POSITIVE_INFINITY) return limit;
    const now = this.#clock.now();
    if (this.#others + this.held > limit / 2 && now - this.#countedAt >= COUNT_INTERVAL_MS) {
      this.#countedAt = now;
      this.#others = Math.max(0, (this.#descriptors.count() ?? this.held) - this.held);
    }
    return limit - this.#others - this.held;
  }

  #scheduleCheck(): void {
    this.#checkedAt = this.#clock.now();
    this.#cancelCheck = this.#clock.after(CHECK_INTERVAL_MS, () => this.#check());
  }

  #check(): void {
    this.#cancelCheck = undefined;
    this.#time += Math.min(this.#clock.now() - this.#checkedAt, LONGEST_STEP_MS);
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

/** How many file descriptors this process may still open. */
export interface Descriptors {
  /** Most descriptors of the process; Infinity where the limit is not known or there is none. */
  readonly limit: number;
  /** Open now; undefined where it cannot be found out. */
  count(): number | undefined;
}

export const processDescriptors: Descriptors = { limit: readLimit(), count: countOpen };

/** Node raises the soft limit to the hard one when it starts, so it is read as the kernel has it now. */
function readLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function countOpen(): number | undefined {
  try {
    // The one that reads the directory is among them.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

/** The connections of this process. */
export const processConnections = new Connections();

/** One connection that a listener accepted, and the listener with what it may hold. */

export interface ListenerLimits {
  /** For the TLS handshake. Default 10 s. */
  readonly handshakeTimeoutMs?: number;
  /** For the first request, from the end of the handshake on. Default 60 s; 0: whoever reads the request sees to it. */
  readonly requestTimeoutMs?: number;
  /** Most pending connections. Default 1024. */
  readonly maxPending?: number;
  /** Most connections. Default: only the limit of descriptors. */
  readonly maxConnections?: number;
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
      remoteAddress === undefined
        ? listener.isUnix
          ? "unix"
          : "unknown"
        : // A listener for both families sees IPv4 addresses as mapped ones.
          joinHostPort(remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, ""), remotePort ?? 0);
  }

  /** Its peer has not asked for anything yet that it was granted. */
  get isPending(): boolean {
    return this.list !== undefined;
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

  /** The handshake has ended well; that alone says nothing of who the peer is. */
  secured(): void {
    if (!this.isHandshaking) return;
    this.isHandshaking = false;
    if (this.list !== undefined) this.deadline = this.#listener.requestDeadline();
  }

  /** Its peer has shown a good certificate: it is not one too many any more, and still has to ask for something in time. */
  verified(): void {
    this.secured();
    if (this.list !== undefined) this.#listener.known.append(this);
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
function track(socket: Tracked, listener: Listener, acceptedAt: number): Connection {
  const connection = new Connection(socket, listener, acceptedAt);
  socket[CONNECTION] = connection;
  socket.once("close", onSocketClose);
  return connection;
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
  connectionOf(request.socket)?.admitted();
}

/** For HTTP servers, whose connections are free again between two requests. */
function followRequests(server: HttpServer): void {
  // Node itself does what is right for the others as long as nobody listens to them.
  const heard = (event: string): boolean => server.listenerCount(event) > 0;
  // Before whoever answers, so that a connection does not count as idle while it is being asked.
  for (const event of ["request", "checkContinue"].filter(heard)) server.prependListener(event, onRequest);
  for (const event of ["connect", "upgrade"].filter(heard)) server.prependListener(event, onTakenOver);
}

/** One listener and its connections. */
class Listener {
  readonly server: Server;
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
    this.server = server;
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
class ConnectionList {
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

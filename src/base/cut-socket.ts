/**
 * The end of a connection: its peer reads everything that was written, within a bound. If the stream was cut, the peer then
 * learns that this was not all. On TCP that is a reset, on TLS a FIN without TLS's own good-bye (close_notify), or an alert
 * for peers that do not notice its absence. On a Unix socket there is nothing to tell an end from.
 */
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import type { Clock } from "./clock.js";
import { pendingEnds } from "./pending-ends.js";

/** The part of a socket that is used. */
export interface Cuttable {
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly encrypted?: boolean;
  /** Undefined on Unix sockets. */
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
  /** Bytes that the kernel holds; of sockets that cannot say it, the kernel's own table is asked. */
  readonly unsentBytes?: number;
  on(event: "close", listener: () => void): unknown;
  once(event: "finish" | "end", listener: () => void): unknown;
  write(chunk: Uint8Array, done: (error?: Error | null) => void): boolean;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  end(): unknown;
  destroySoon(): void;
  resetAndDestroy?(): unknown;
}

export interface CutOptions {
  readonly clock: Clock;
  /** How long the peer has to read what was written before. */
  readonly withinMs: number;
  /** On TLS: the peer is told by an alert, since it would take a FIN for a good end, as Node does. */
  readonly alert?: boolean;
}

const NOTHING = new Uint8Array(0);

const cut = new WeakSet<Cuttable>();

/** Nothing more may be written; what the peer still sends has to be read by somebody, and is of no use. */
export function cutWhenSent(socket: Cuttable, options: CutOptions): void {
  if (socket.destroyed || cut.has(socket)) return;
  const { clock, withinMs } = options;
  cut.add(socket);
  boundEnd(socket, clock, withinMs);
  const canReset = hasReset(socket);
  // Otherwise a peer that writes before it reads would never come to read.
  if (!canReset || socket.writableLength > 0) socket.resume();
  whenWritten(socket, () => {
    if (socket.destroyed) return;
    if (socket.encrypted === true) truncate(socket, options);
    else if (canReset) whenSent(socket, clock, () => severNow(socket));
    else socket.destroySoon();
  });
}

/**
 * An end in good order, whatever the peer still sends: that is read and of no use. To close a connection at once would turn
 * its end into a reset as soon as anything more arrives, and a reset throws away what the kernel has not sent yet.
 */
export function endWhenRead(socket: Cuttable, clock: Clock, withinMs: number): void {
  if (socket.destroyed) return;
  boundEnd(socket, clock, withinMs);
  socket.resume();
  socket.end();
}

/** The end of this socket is under way and may take so long. Processes that are about to end wait for it. */
export function boundEnd(socket: Cuttable, clock: Clock, withinMs: number): void {
  pendingEnds(clock, severNow).add(socket, withinMs);
}

/** Whether it is being cut: an error of a TLS socket is then its own alert. */
export function isBeingCut(socket: Cuttable): boolean {
  return cut.has(socket);
}

/** The same without waiting for anything: what was not sent yet is lost. */
export function severNow(socket: Cuttable): void {
  if (!hasReset(socket)) socket.destroy();
  else if (socket instanceof Socket) {
    // Node's own resetAndDestroy() ends the connection first, and a peer may take that FIN for a good end.
    (socket as { resetAndClosing?: boolean }).resetAndClosing = true;
    socket.destroy();
  } else socket.resetAndDestroy?.();
}

/**
 * Whether a connection that has ended was in truth reset. The libuv of Node 20 reports an end when it finds a reset behind
 * the last bytes (`uv__stream_eof` after a partial read), newer ones an error; the kernel has no peer for such a socket any
 * more. Nor has it one for a connection that both sides have ended, so that nothing can be said when ours has.
 */
export function wasReset(socket: Pick<Cuttable, "writableEnded">): boolean {
  const { _handle: handle } = socket as Layers;
  return !socket.writableEnded && handle?.getpeername !== undefined && handle.getpeername({}) !== 0;
}

/**
 * Until all whose end is under way are gone, at most so long; the rest is severed then. For processes that are about to end.
 * Resolves to whether nothing had to be severed.
 */
export async function endsDone(clock: Clock, withinMs: number): Promise<boolean> {
  const ends = pendingEnds(clock, severNow);
  await ends.over(withinMs);
  return !ends.severDue(Number.POSITIVE_INFINITY);
}

function hasReset(socket: Cuttable): boolean {
  return socket.encrypted !== true && socket.remotePort !== undefined && socket.resetAndDestroy !== undefined;
}

/** Once the kernel has everything. */
function whenWritten(socket: Cuttable, then: () => void): void {
  if (socket.writableEnded) {
    if (socket.writableFinished) then();
    else socket.once("finish", then);
  } else if (socket.writableLength === 0) then();
  else socket.write(NOTHING, then);
}

// ---- TLS -----------------------------------------------------------------------------------------------------------

/** What Node's TLS sockets are made of: without public names, so that we must do without them where they are not. */
interface Layers {
  readonly _parent?: { end(done?: () => void): unknown } | null;
  readonly _handle?: { receive?(bytes: Buffer): void; getpeername?(into: object): number } | null;
}

/** Not a TLS record, and longer than the rest of any that has begun: whoever reads it says so to its peer, by an alert. */
const NO_RECORD = Buffer.alloc(20 * 1024);

/** The peer is read until it ends, too, since closing with bytes unread resets the connection. */
function truncate(socket: Cuttable, { clock, alert = false }: CutOptions): void {
  const { _parent: transport, _handle: tls } = socket as Layers;
  if (transport === undefined || transport === null) {
    socket.destroy();
    return;
  }
  const isAlerted = alert && !socket.writableEnded;
  if (isAlerted) tls?.receive?.(NO_RECORD);
  if (socket.destroyed) return;
  // After an alert nothing can be read any more.
  if (isAlerted || socket.readableEnded) transport.end(() => whenSent(socket, clock, () => socket.destroy()));
  else {
    socket.once("end", () => socket.destroy());
    transport.end();
  }
}

// ---- TCP -----------------------------------------------------------------------------------------------------------

/** A reset throws away what the kernel has not sent, so that its queue is looked at until it is empty. */
const LOOK_MS = 10;
const LONGEST_LOOK_MS = 250;

/**
 * A connection without ports is not a connection any more. The peer is read between two looks only: one that has everything
 * need not be read any more, however much it sends.
 */
function whenSent(socket: Cuttable, clock: Clock, then: () => void, pauseMs = LOOK_MS): void {
  if (socket.destroyed) return;
  socket.pause();
  const judge = (isSent: boolean): void => {
    if (socket.destroyed) return;
    if (isSent) {
      then();
      return;
    }
    socket.resume();
    clock.after(pauseMs, () => whenSent(socket, clock, then, Math.min(2 * pauseMs, LONGEST_LOOK_MS)));
  };
  const { unsentBytes, localPort, remotePort } = socket;
  if (unsentBytes !== undefined) judge(unsentBytes === 0);
  else if (localPort === undefined || remotePort === undefined) then();
  else {
    const ports = `${hexPort(localPort)}:${hexPort(remotePort)}`;
    void unsentConnections().then((unsent) => judge(!unsent.has(ports)));
  }
}

/** Connections of which the kernel has not sent everything, by their ports in its own spelling: local, then remote. */
type Unsent = ReadonlySet<string>;

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Ports, state and queue. In the states 04, 09 and 0B our own end is among what is unsent, and counts as one byte. */
const UNSENT =
  /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) (?:(?:04|09|0B) (?!0{7}[01])|(?!04|09|0B)[0-9A-F]{2} (?!0{8}))[0-9A-F]{8}:/g;
let looking: Promise<Unsent> | undefined;

/** All that ask at the same time share one look. */
function unsentConnections(): Promise<Unsent> {
  looking ??= Promise.all(TABLES.map((table) => readFile(table, "latin1").catch(() => ""))).then((tables) => {
    looking = undefined;
    return new Set(tables.flatMap(unsentIn));
  });
  return looking;
}

/** For tests. */
export function unsentIn(table: string): string[] {
  return [...table.matchAll(UNSENT)].map(([, local, remote]) => `${local}:${remote}`);
}

const hexPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

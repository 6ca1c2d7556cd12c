/** A stream socket (TCP, TLS or Unix) as a port. */
import { ByteQueue } from "../../base/byte-queue.js";
import type { Clock } from "../../base/clock.js";
import { boundEnd, type Cuttable, cutWhenSent, isBeingCut, severNow, wasReset } from "../../base/cut-socket.js";
import type { NearEvents, Port } from "./tunnel.js";

/** The part of `net.Socket` that is used; spelled out because this folder opens no sockets. */
export interface SocketLike extends Cuttable {
  readonly writableNeedDrain: boolean;
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "drain" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  write(chunk: Uint8Array, done?: (error?: Error | null) => void): boolean;
  cork(): void;
  uncork(): void;
  pause(): unknown;
  read?(): Uint8Array | null;
}

const NOTHING = new Uint8Array(0);

/** Bytes that a TLS socket gets at once, since it holds them twice. Other sockets get all there is: fewer, larger writes. */
const TLS_PORTION_BYTES = 64 * 1024;

const RESET = "read ECONNRESET";

/** Pieces of one turn that are written each by itself: what a socket holds back costs some hundred bytes a piece. */
const MOST_WRITES = 16;

/** How long a closed tunnel's last bytes may take to reach a slow reader. */
const LINGER_MS = 10_000;

/** Where a socket finds its port, so that all sockets share one set of listeners instead of five closures each. */
const PORT = Symbol("port");
type Ported = SocketLike & { [PORT]?: SocketPort };

export class SocketPort implements Port {
  readonly canHalfClose = true;
  /** The peer takes a connection without TLS's good-bye for one that has ended, and asks for an alert instead. */
  wantsAlert = false;
  readonly #socket: Ported;
  readonly #clock: Clock;
  #near: NearEvents | undefined;
  #held: Uint8Array | undefined;
  /** The only bytes of this turn so far: one piece is written as it is, only several are worth gathering. */
  #first: Buffer | undefined;
  /** Pieces of this turn that the socket has, to be sent together. */
  #corked = 0;
  /** Bytes that wait until the socket has taken those before. */
  readonly #queue = new ByteQueue();
  #watching = false;
  #lost = "the connection was closed";

  constructor(socket: SocketLike, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  get queuedBytes(): number {
    return this.#socket.writableLength + (this.#first?.length ?? 0) + this.#queue.length;
  }

  /** May be called again to hand the socket on: only the last one gets its events. */
  attach(near: NearEvents): void {
    const socket = this.#socket;
    const first = this.#near === undefined;
    this.#near = near;
    if (socket.destroyed) {
      near.onNearLost(this.#lost);
      return;
    }
    if (first) {
      socket[PORT] = this;
      socket.on("data", onData);
      socket.on("end", onEnd);
      socket.on("drain", onDrain);
      socket.on("error", onError);
      socket.on("close", onClose);
    }
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) near.onNearData(held);
  }

  /** Bytes that were read before the next one is attached: that one gets them first. */
  hold(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#held = bytes;
  }

  ended(): void {
    if (wasReset(this.#socket)) this.failed(RESET);
    else this.#near!.onNearEnd();
  }

  drained(): void {
    this.flush();
    // Not in between: a window grows only when its reader was seen to have taken everything.
    if (this.queuedBytes === 0) this.#near!.onNearDrained();
    else this.#watchQueue();
  }

  /** After an alert of its peer a TLS socket would still end as if nothing had happened. */
  failed(reason: string): void {
    if (isBeingCut(this.#socket)) return;
    this.#lost = reason;
    this.#socket.destroy();
  }

  gone(): void {
    // What had come while the socket was not read.
    for (let rest = this.#socket.read?.(); rest; rest = this.#socket.read?.()) this.#near!.onNearData(rest);
    this.#near!.onNearLost(this.#lost);
  }

  /** For sockets that read into a buffer of ours (`onread`) instead of emitting `data`. */
  received(chunk: Uint8Array): void {
    this.#near?.onNearData(chunk);
  }

  /** While the socket keeps up, the first pieces of a turn go to it as they are; all others gather. */
  write(chunk: Buffer): void {
    const socket = this.#socket;
    if (this.#queue.length > 0 || this.#corked >= MOST_WRITES) this.#queue.push(chunk);
    else if (this.#corked > 0) {
      this.#corked++;
      socket.write(chunk);
    } else if (this.#first !== undefined) {
      this.#corked = 2;
      socket.cork();
      socket.write(this.#first);
      this.#first = undefined;
      socket.write(chunk);
    } else if (socket.writableLength === 0) this.#first = chunk;
    else this.#queue.push(chunk);
  }

  flush(): void {
    const socket = this.#socket;
    if (this.#first !== undefined) {
      socket.write(this.#first);
      this.#first = undefined;
    } else if (this.#corked > 0) {
      this.#corked = 0;
      socket.uncork();
    } else if (this.#queue.length === 0) return;
    if (this.#queue.length > 0) {
      const portion = socket.encrypted === true ? TLS_PORTION_BYTES : Number.POSITIVE_INFINITY;
      while (socket.writableLength === 0 && this.#queue.length > 0) this.#hand(portion);
      this.#queue.settle();
    }
    this.#watchQueue();
  }

  /** Gives the socket at least so many of the bytes that wait, in one piece, or all of them. */
  #hand(bytes: number): void {
    const socket = this.#socket;
    const first = this.#queue.shift()!;
    if (this.#queue.length === 0) {
      socket.write(first);
      return;
    }
    socket.cork();
    socket.write(first);
    for (let handed = first.length; handed < bytes && this.#queue.length > 0; ) {
      const chunk = this.#queue.shift()!;
      handed += chunk.length;
      socket.write(chunk);
    }
    socket.uncork();
  }

  /** No further bytes will come: the socket holds what is left. */
  #handAll(): void {
    this.flush();
    if (this.#queue.length > 0) this.#hand(this.#queue.length);
  }

  /**
   * A queue below the socket's own high-water mark empties without a `drain`: then an empty write behind it tells when.
   * Without it the last bytes of a window would never be credited, and the tunnel would stall for good.
   */
  #watchQueue(): void {
    const socket = this.#socket;
    if (this.#watching || socket.writableLength === 0 || socket.writableNeedDrain || socket.writableEnded) return;
    this.#watching = true;
    socket.write(NOTHING, (error) => {
      this.#watching = false;
      if (!error) this.drained();
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#handAll();
    this.#socket.end();
  }

  close(): void {
    this.#handAll();
    const socket = this.#socket;
    if (socket.destroyed) return;
    // All was read and all was written: closing says the same as ending first, for half the system calls.
    if (socket.readableEnded && socket.writableLength === 0 && socket.encrypted !== true) socket.destroy();
    else socket.destroySoon();
    if (!socket.destroyed) boundEnd(socket, this.#clock, LINGER_MS);
  }

  destroy(): void {
    this.#drop();
    // So that TLS says good-bye.
    if (this.#socket.encrypted === true) this.#socket.end();
    this.#socket.destroy();
  }

  cut(_reason: string, now: boolean): void {
    if (now) {
      this.#drop();
      severNow(this.#socket);
      return;
    }
    this.#handAll();
    cutWhenSent(this.#socket, { clock: this.#clock, withinMs: LINGER_MS, alert: this.wantsAlert });
  }

  #drop(): void {
    this.#first = undefined;
    this.#queue.clear();
  }
}

function onData(this: Ported, chunk: Buffer): void {
  this[PORT]!.received(chunk);
}

function onEnd(this: Ported): void {
  this[PORT]!.ended();
}

function onDrain(this: Ported): void {
  this[PORT]!.drained();
}

function onError(this: Ported, error: Error): void {
  this[PORT]!.failed(error.message);
}

function onClose(this: Ported): void {
  this[PORT]!.gone();
}

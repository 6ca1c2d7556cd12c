/** Bytes between two streams, both ways at once: held back by the slower side, ended one direction at a time. */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Cuttable, cutWhenSent, isBeingCut, severNow, wasReset } from "../../base/cut-socket.js";
import { IdleTimer } from "../../base/idle-timer.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { GrpcTunnel } from "../client/grpc-tunnel.js";
import { canBeLean, leanSocket } from "./lean-socket.js";

/** Bytes carried so far; one object may be shared by many relays. */
export interface Traffic {
  toTarget: number;
  fromTarget: number;
}

export interface RelayOptions {
  readonly runtime?: Runtime | undefined;
  readonly traffic: Traffic;
  /** Ends a relay on which nothing moved for so long; 0: never. */
  readonly idleTimeoutMs: number;
  /** Told once, when both streams are closed. */
  readonly onEnd: (end: RelayEnd) => void;
}

/** The error is empty when both directions ended in order. */
export type RelayEnd = Readonly<Traffic> & { readonly error: string };

/**
 * What may wait in one direction before its source is paused. Looked at after the write: what the kernel took at once
 * does not count, so a fast reader never costs a pause.
 */
const HIGH_WATER_BYTES = 64 * 1024;
/** Between lean sockets: the bytes stand in the memory that the next read would use. */
const LEAN_HIGH_WATER_BYTES = 0;

const NOTHING = Buffer.alloc(0);

/** For a client that goes on talking after the target is gone: closing at once would reset what it has not read yet. */
const LINGER_MS = 5_000;

export class Relay {
  readonly runtime: Runtime;
  readonly #options: RelayOptions;
  readonly #near: Side;
  readonly #far: Side;
  readonly #idle: IdleTimer | undefined;
  #error = "";
  #open = 2;

  /** Takes both streams over; neither may be flowing yet, and what must reach `near` first is written already. */
  constructor(near: Duplex, far: Duplex, options: RelayOptions) {
    this.#options = options;
    this.runtime = options.runtime ?? systemRuntime;
    if (options.idleTimeoutMs > 0) {
      const why = `nothing moved for ${options.idleTimeoutMs} ms`;
      this.#idle = new IdleTimer(this.runtime, options.idleTimeoutMs, () => this.cut(why));
    }
    const lean = canBeLean(near) && canBeLean(far);
    this.#near = new Side(near, this, lean);
    this.#far = new Side(far, this, lean);
    this.#near.start(this.#far);
    this.#far.start(this.#near);
  }

  /** Counters and times for the admin API; times by its clock, 0 for what has not happened. */
  get status() {
    const [near, far] = [this.#near, this.#far];
    return {
      bytesToFar: near.bytes,
      bytesToNear: far.bytes,
      firstToFarAt: near.firstAt,
      firstToNearAt: far.firstAt,
      nearEndedAt: near.endedAt,
      farEndedAt: far.endedAt,
      paused: near.paused || far.paused,
      queuedBytes: near.queuedBytes + far.queuedBytes,
    };
  }

  /** Ends both streams once what has arrived is delivered, and so that their peers notice. */
  cut(why: string): void {
    this.fail(why);
    this.#near.cutOff();
    this.#far.cutOff();
  }

  // ---- called by the sides -----------------------------------------------------------------------------------------

  moved(from: Side, bytes: number): void {
    const { traffic } = this.#options;
    if (from.bytes === bytes) from.firstAt = this.runtime.now();
    if (from === this.#near) traffic.toTarget += bytes;
    else traffic.fromTarget += bytes;
    if (this.#idle !== undefined) this.#idle.moved = true;
  }

  fail(why: string): void {
    if (this.#error === "") this.#error = why;
  }

  closed(side: Side): void {
    this.#open--;
    const other = side === this.#near ? this.#far : this.#near;
    if (this.#open > 0) other.peerClosed(side.inOrder);
    else {
      this.#idle?.cancel();
      this.#options.onEnd({ toTarget: this.#near.bytes, fromTarget: this.#far.bytes, error: this.#error });
    }
  }
}

/** One stream as a source, and the other one as where its bytes go. */
class Side {
  bytes = 0;
  firstAt = 0;
  endedAt = 0;
  readonly #stream: Duplex;
  readonly #early: Buffer | null = null;
  readonly #mark: number;
  readonly #relay: Relay;
  #to!: Duplex;
  #paused = false;
  #cancelLinger: (() => void) | undefined;

  constructor(stream: Duplex, relay: Relay, lean: boolean) {
    this.#relay = relay;
    this.#mark = lean ? LEAN_HIGH_WATER_BYTES : HIGH_WATER_BYTES;
    if (lean) {
      this.#early = stream.read(stream.readableLength) as Buffer | null;
      this.#stream = leanSocket(stream as Socket, this.#onBytes);
    } else this.#stream = stream.on("data", this.#onData).pause();
  }

  start(to: Side): void {
    const stream = this.#stream;
    this.#to = to.#stream;
    stream.on("error", this.#onError).once("end", this.#onEnd).once("close", this.#onClose);
    this.#to.on("drain", this.#onDrain);
    // Events from before this point are not emitted again.
    const { runtime } = this.#relay;
    if (stream.readableEnded) runtime.next(this.#onEnd);
    if (stream.closed) runtime.next(this.#onClose);
    else if (this.#early === null || this.#onBytes(this.#early)) stream.resume();
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Bytes that wait for the other stream. */
  get queuedBytes(): number {
    return this.#to.writableLength;
  }

  /** Ended by its peer, and everything for it delivered. */
  get inOrder(): boolean {
    return this.#stream.errored === null && this.#stream.readableEnded;
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#onBytes(chunk)) this.#stream.pause();
  };

  /** False: no more until the stream is resumed. */
  readonly #onBytes = (chunk: Buffer): boolean => {
    this.bytes += chunk.length;
    this.#relay.moved(this, chunk.length);
    const to = this.#to;
    // The other side ended for good, or is lingering: nobody reads.
    if (!to.writable) return true;
    to.write(chunk);
    if (to.writableLength <= this.#mark) return true;
    this.#paused = true;
    // A stream that holds less than its own mark does not say when it has drained.
    if (!to.writableNeedDrain) to.write(NOTHING, this.#onDrain);
    return false;
  };

  readonly #onDrain = (): void => {
    if (!this.#paused) return;
    this.#paused = false;
    this.#stream.resume();
  };

  /** Only this direction has ended. */
  readonly #onEnd = (): void => {
    this.endedAt = this.#relay.runtime.now();
    if (wasReset(this.#stream)) this.#onError(new Error("read ECONNRESET"));
    else if (this.#to.writable) this.#to.end();
  };

  /** After an alert of its peer a TLS socket would still end as if nothing had happened. */
  readonly #onError = (error: Error): void => {
    const stream = this.#stream;
    if (isCuttable(stream) && isBeingCut(stream)) return;
    this.#relay.fail(error.message);
    stream.destroy(error);
  };

  readonly #onClose = (): void => {
    this.#cancelLinger?.();
    this.#to.off("drain", this.#onDrain);
    if (!this.inOrder) {
      this.#relay.fail("the connection was lost");
      this.#passOnTheRest();
    }
    this.#relay.closed(this);
  };

  /** Bytes that had arrived, and waited for the other stream, when this one failed. */
  #passOnTheRest(): void {
    for (let chunk = this.#stream.read() as Buffer | null; chunk !== null; chunk = this.#stream.read() as Buffer | null)
      if (this.#to.writable) this.#to.write(chunk);
  }

  /** The other stream is gone as a whole. */
  peerClosed(inOrder: boolean): void {
    if (!inOrder) {
      this.cutOff();
      return;
    }
    this.#paused = false;
    this.#stream.resume();
    if (this.#stream.writable) this.#stream.end();
    this.#cancelLinger = this.#relay.runtime.after(LINGER_MS, () => this.#giveUp());
  }

  /** What the peer has not taken by now is lost to it. */
  #giveUp(): void {
    const stream = this.#stream;
    if (isCuttable(stream) && !stream.writableFinished) severNow(stream);
    else stream.destroy();
  }

  /** A plain close would look like an orderly end to the peer, and like a complete answer. */
  cutOff(): void {
    const stream = this.#stream;
    if (isCuttable(stream)) cutWhenSent(stream, { clock: this.#relay.runtime, withinMs: LINGER_MS, alert: true });
    else stream.destroy();
  }
}

/** Targets behind another proxy are plain streams, which know nothing but an end. */
function isCuttable(stream: Duplex): stream is Duplex & Cuttable {
  return stream instanceof Socket || stream instanceof GrpcTunnel;
}

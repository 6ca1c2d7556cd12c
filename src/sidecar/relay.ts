/** Bytes between two streams, both ways at once: held back by the slower side, ended one direction at a time. */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

/** Bytes carried so far; one object may be shared by many relays. */
export interface Traffic {
  toTarget: number;
  fromTarget: number;
}

export interface RelayOptions {
  readonly traffic: Traffic;
  /** Ends a relay on which nothing moved for so long; 0: never. */
  readonly idleTimeoutMs: number;
  /** Told once, when both streams are closed. */
  readonly onEnd: (end: RelayEnd) => void;
}

export interface RelayEnd {
  readonly toTarget: number;
  readonly fromTarget: number;
  /** Empty when both directions ended in order. */
  readonly error: string;
}

/**
 * What may wait in one direction before its source is paused. Looked at after the write: what the kernel took at once
 * does not count, so a fast reader never costs a pause.
 */
const HIGH_WATER_BYTES = 64 * 1024;

/** For a client that goes on talking after the target is gone: closing at once would reset what it has not read yet. */
const LINGER_MS = 5_000;

export class Relay {
  readonly #options: RelayOptions;
  readonly #near: Side;
  readonly #far: Side;
  readonly #idle: NodeJS.Timeout | undefined;
  #error = "";
  #open = 2;

  /** Takes both streams over; neither may be flowing yet, and what `near` must be told first is written already. */
  constructor(near: Duplex, far: Duplex, options: RelayOptions) {
    this.#options = options;
    if (options.idleTimeoutMs > 0) {
      const why = `nothing moved for ${options.idleTimeoutMs} ms`;
      this.#idle = setTimeout(() => this.cut(why), options.idleTimeoutMs).unref();
    }
    this.#near = new Side(near, far, this);
    this.#far = new Side(far, near, this);
    this.#near.start();
    this.#far.start();
  }

  /** Ends both streams now, and so that their peers notice. */
  cut(why: string): void {
    this.fail(why);
    this.#near.cutOff();
    this.#far.cutOff();
  }

  // ---- told by the sides -------------------------------------------------------------------------------------------

  moved(from: Side, bytes: number): void {
    const { traffic } = this.#options;
    if (from === this.#near) traffic.toTarget += bytes;
    else traffic.fromTarget += bytes;
    this.#idle?.refresh();
  }

  fail(why: string): void {
    if (this.#error === "") this.#error = why;
  }

  closed(side: Side): void {
    this.#open--;
    const other = side === this.#near ? this.#far : this.#near;
    if (this.#open > 0) other.peerClosed(side.inOrder);
    else {
      clearTimeout(this.#idle);
      this.#options.onEnd({ toTarget: this.#near.bytes, fromTarget: this.#far.bytes, error: this.#error });
    }
  }
}

/** One stream as a source, and the other one as where its bytes go. */
class Side {
  bytes = 0;
  readonly #stream: Duplex;
  readonly #to: Duplex;
  readonly #mark: number;
  readonly #relay: Relay;
  #paused = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(stream: Duplex, to: Duplex, relay: Relay) {
    this.#stream = stream;
    this.#to = to;
    // Below its own mark a stream does not say when it has drained.
    this.#mark = Math.max(HIGH_WATER_BYTES, to.writableHighWaterMark);
    this.#relay = relay;
  }

  start(): void {
    const stream = this.#stream;
    stream.on("error", this.#onError).once("end", this.#onEnd).once("close", this.#onClose);
    this.#to.on("drain", this.#onDrain);
    // What happened before we came is not told again.
    if (stream.readableEnded) process.nextTick(this.#onEnd);
    if (stream.closed) process.nextTick(this.#onClose);
    else stream.on("data", this.#onData).resume();
  }

  /** Ended by its peer, and everything for it delivered. */
  get inOrder(): boolean {
    return this.#stream.errored === null && this.#stream.readableEnded;
  }

  readonly #onData = (chunk: Buffer): void => {
    this.bytes += chunk.length;
    this.#relay.moved(this, chunk.length);
    // The other side ended for good, or is lingering: there is nobody to tell.
    if (!this.#to.writable) return;
    this.#to.write(chunk);
    if (this.#to.writableLength <= this.#mark) return;
    this.#paused = true;
    this.#stream.pause();
  };

  readonly #onDrain = (): void => {
    if (!this.#paused) return;
    this.#paused = false;
    this.#stream.resume();
  };

  /** Only this direction is over. */
  readonly #onEnd = (): void => {
    if (this.#to.writable) this.#to.end();
  };

  readonly #onError = (error: Error): void => this.#relay.fail(error.message);

  readonly #onClose = (): void => {
    clearTimeout(this.#linger);
    this.#to.off("drain", this.#onDrain);
    if (!this.inOrder) this.#relay.fail("the connection was lost");
    this.#relay.closed(this);
  };

  /** The other stream is gone as a whole. */
  peerClosed(inOrder: boolean): void {
    if (!inOrder) {
      this.cutOff();
      return;
    }
    this.#paused = false;
    this.#stream.resume();
    if (this.#stream.writable) this.#stream.end();
    this.#linger = setTimeout(() => this.#stream.destroy(), LINGER_MS).unref();
  }

  /** A plain close would look like an orderly end to the peer, and like a complete answer. */
  cutOff(): void {
    const stream = this.#stream;
    if (stream instanceof Socket && !(stream instanceof TLSSocket) && stream.remotePort !== undefined) {
      stream.resetAndDestroy();
    } else {
      stream.destroy();
    }
  }
}

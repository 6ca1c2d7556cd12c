/** The result of a dial: enough of a `net.Socket` for node:http, node:tls and most code that was written for sockets. */
import { Duplex } from "node:stream";

/** A real `net.Socket` (or `tls.TLSSocket`) at http-connect frontends, a stand-in for one at gRPC frontends. */
export interface TunnelSocket extends Duplex {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly connecting: boolean;
  readonly timeout?: number | undefined;
  setNoDelay(on?: boolean): this;
  setKeepAlive(on?: boolean, initialDelayMs?: number): this;
  /** Emits `timeout` after `ms` without traffic; 0 switches it off. */
  setTimeout(ms: number, onTimeout?: () => void): this;
  /** Ends, and destroys once everything written is sent. */
  destroySoon(): void;
  ref(): this;
  unref(): this;
}

/** The far side of a stand-in. */
export interface FarSide {
  /** False: no more until `drained` is called. */
  send(bytes: Uint8Array): boolean;
  pause(): void;
  resume(): void;
  /** Nothing more will be sent, and nothing more is wanted than what is under way. May be called again. */
  hangUp(): void;
  ref(): void;
  unref(): void;
}

/** Bytes that may wait for the program in either direction before the far side is held back. */
const HIGH_WATER_BYTES = 128 * 1024;

export class TunnelDuplex extends Duplex implements TunnelSocket {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly connecting = false;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;

  readonly #far: FarSide;
  #waiting: (() => void) | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(far: FarSide, target: { readonly host: string; readonly port: number }) {
    // The protocol closes both directions at once, so our side ends with the far one.
    super({ highWaterMark: HIGH_WATER_BYTES, allowHalfOpen: false });
    this.#far = far;
    this.remoteAddress = target.host;
    this.remotePort = target.port;
  }

  // ---- events of the far side ----------------------------------------------------------------------------------------

  received(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.#idle?.refresh();
    if (!this.push(bytes)) this.#far.pause();
  }

  drained(): void {
    const go = this.#waiting;
    this.#waiting = undefined;
    go?.();
  }

  /** The far side is done; what it sent before is still read. Bytes on their way to it are gone, as on any network. */
  farEnded(): void {
    if (this.destroyed) return;
    this.push(null);
    this.drained();
  }

  // ---- Duplex ------------------------------------------------------------------------------------------------------

  override _read(): void {
    this.#far.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.bytesWritten += chunk.length;
    this.#idle?.refresh();
    if (this.#far.send(chunk)) done();
    else this.#waiting = done;
  }

  override _final(done: () => void): void {
    this.#far.hangUp();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idle);
    this.#far.hangUp();
    // Nobody reads any more: what still comes is thrown away instead of holding the stream up.
    this.#far.resume();
    done(error);
  }

  // ---- net.Socket --------------------------------------------------------------------------------------------------

  setTimeout(ms: number, onTimeout?: () => void): this {
    this.timeout = ms;
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (onTimeout !== undefined) {
      if (ms === 0) this.off("timeout", onTimeout);
      else this.once("timeout", onTimeout);
    }
    if (ms > 0 && !this.destroyed) this.#idle = setTimeout(() => this.emit("timeout"), ms).unref();
    return this;
  }

  /** Packets are sent as they come; there is nothing to switch. */
  setNoDelay(): this {
    return this;
  }

  /** The connection to the proxy-server has its own keep-alive, and the agent one towards the endpoint. */
  setKeepAlive(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  ref(): this {
    this.#far.ref();
    return this;
  }

  unref(): this {
    this.#far.unref();
    return this;
  }
}

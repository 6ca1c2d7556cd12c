/**
 * A socket of the simulated world. Node's own Duplex above, a pair of wires below; what is between them does what `net.Socket`
 * and `tls.TLSSocket` do with their handles, in the same order (socket.test.ts compares them).
 */

import type { OnReadOpts } from "node:net";
import { Duplex } from "node:stream";
import type { Host } from "../world/host.js";
import type { Wire } from "./wire.js";

export interface SimSocketOptions {
  readonly allowHalfOpen?: boolean | undefined;
  /** Behaves as a TLS socket after its handshake. */
  readonly encrypted?: boolean | undefined;
  readonly onread?: OnReadOpts | undefined;
  /** Not connected yet: connect() or refuse() will be called. */
  readonly connecting?: boolean | undefined;
}

/** One read of the kernel's at most; a record of TLS. */
const READ_BYTES = 64 * 1024;
const RECORD_BYTES = 16 * 1024;

/** How long the loop may take until it sees what the kernel has. */
const POLL_MS = 0.02;

/** Since Node 22 a write that the kernel had not taken whole fails when its socket is destroyed; before, it succeeded. */
const FAILS_WHEN_DESTROYED = Number.parseInt(process.versions.node, 10) >= 22;

type Done = (error?: Error | null) => void;

/** Writes of which the kernel has not taken all. */
interface PendingWrite {
  readonly chunks: readonly Uint8Array[];
  at: number;
  from: number;
  readonly done: Done;
}

export class SimSocket extends Duplex {
  readonly host: Host;
  readonly encrypted: boolean | undefined;
  connecting: boolean;
  bytesRead = 0;
  bytesWritten = 0;
  remoteAddress: string | undefined;
  /** As a Unix socket, without them. */
  localPort: number | undefined;
  remotePort: number | undefined;
  /** As TLS sockets have them. */
  alpnProtocol: string | false = false;
  authorized = true;
  resetAndClosing = false;
  readonly #onread: OnReadOpts | undefined;
  #in: Wire | undefined;
  #out: Wire | undefined;
  #reading = false;
  #polled = false;
  #pending: PendingWrite | undefined;
  #closed = false;

  constructor(host: Host, options: SimSocketOptions = {}) {
    super({
      allowHalfOpen: options.allowHalfOpen ?? false,
      emitClose: false,
      autoDestroy: true,
      decodeStrings: true,
    });
    this.host = host;
    this.encrypted = options.encrypted === true ? true : undefined;
    this.#onread = options.onread;
    this.connecting = options.connecting ?? false;
  }

  /** The kernel has the connection; the process may learn of it later. */
  plug(incoming: Wire, outgoing: Wire): void {
    this.#in = incoming;
    this.#out = outgoing;
    incoming.onArrival = this.#poll;
    incoming.onRefused = () => outgoing.reset();
    outgoing.onRoom = this.#onRoom;
  }

  /** The process has accepted it. */
  accepted(): void {
    this.read(0);
  }

  /** Bytes that the kernel has not sent, or of which it does not know that they have arrived. */
  get unsentBytes(): number {
    return this.#out?.unsentBytes ?? 0;
  }

  /** TLS: the connection ended without its good-bye, which Node does not tell anybody and others do. */
  get isTruncated(): boolean {
    return this.encrypted === true && this.#in?.finArrived === true && !this.#in.isGoodbye;
  }

  /** The transport below TLS, as far as anybody may use it. */
  get _parent(): { end(done?: () => void): void } | undefined {
    if (this.encrypted !== true || this.#closed) return undefined;
    return {
      end: (done = () => {}) => {
        this.#out?.fin();
        this.host.after(POLL_MS * this.host.random.float(), "shutdown", done);
      },
    };
  }

  /** The kernel says that the connection is there. */
  connected(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.emit("connect");
    this.emit("ready");
    if (!this.isPaused()) this.read(0);
  }

  /** The kernel says that there will be no connection. */
  refused(code: string, where: string): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.destroy(errno(code, "connect", where));
  }

  // ---- reading -----------------------------------------------------------------------------------------------------

  override _read(): void {
    if (this.connecting) this.once("connect", () => this._read());
    else this.#startReading();
  }

  #startReading(): void {
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    if (this.#in?.isReadable) this.#poll();
  }

  override pause(): this {
    if (this.#onread !== undefined && !this.connecting) this.#reading = false;
    return super.pause();
  }

  override resume(): this {
    if (this.#onread !== undefined && !this.connecting) this.#startReading();
    return super.resume();
  }

  override read(size?: number): unknown {
    if (this.#onread !== undefined && !this.connecting && !this.#closed && size !== 0) this.#startReading();
    return super.read(size);
  }

  readonly #poll = (): void => {
    if (this.#polled || this.#closed) return;
    // A write that waits learns of a reset, too; otherwise only whoever reads notices anything.
    if (!this.#reading && !(this.#pending !== undefined && this.#in?.resetArrived)) return;
    this.#polled = true;
    this.host.after(POLL_MS * this.host.random.float(), "readable", this.#onReadable);
  };

  readonly #onReadable = (): void => {
    this.#polled = false;
    const wire = this.#in;
    if (wire === undefined || this.#closed) return;
    if (!this.#reading) {
      if (this.#pending !== undefined && wire.resetArrived) this.#failWrite();
      return;
    }
    if (wire.unreadBytes > 0) {
      const most = this.encrypted === true ? RECORD_BYTES : READ_BYTES;
      // As Node reads: every chunk has memory of its own.
      const buffer =
        (this.#onread?.buffer as Uint8Array | undefined) ?? Buffer.allocUnsafeSlow(Math.min(most, wire.unreadBytes));
      const length = wire.read(buffer);
      this.bytesRead += length;
      const goesOn = this.#onread === undefined ? this.push(buffer) : this.#onread.callback(length, buffer) !== false;
      if (!goesOn) this.#reading = false;
      if (wire.isReadable) this.#poll();
    } else if (wire.resetArrived) this.destroy(errno("ECONNRESET", "read"));
    else if (wire.finArrived) {
      this.#reading = false;
      this.push(null);
      // As net.Socket does, which has the end emitted even when nothing is being read.
      super.read(0);
    }
  };

  // ---- writing -----------------------------------------------------------------------------------------------------

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send([chunk], done);
  }

  override _writev(entries: { chunk: Buffer }[], done: Done): void {
    this.#send(
      entries.map(({ chunk }) => chunk),
      done,
    );
  }

  #send(chunks: readonly Uint8Array[], done: Done): void {
    if (this.connecting) {
      const onClose = (): void => done(errno("ERR_SOCKET_CLOSED_BEFORE_CONNECTION", "write"));
      this.once("connect", () => {
        this.off("close", onClose);
        this.#send(chunks, done);
      });
      this.once("close", onClose);
      return;
    }
    if (this.#closed) {
      done(errno("ERR_SOCKET_CLOSED", "write"));
      return;
    }
    // TLS has encrypted, and so copied, all of it before the kernel takes any.
    const kept = this.encrypted === true ? [Buffer.concat(chunks)] : chunks;
    const write: PendingWrite = { chunks: kept, at: 0, from: 0, done };
    for (const chunk of kept) this.bytesWritten += chunk.length;
    if (this.#isBroken) {
      done(errno("EPIPE", "write"));
      return;
    }
    const isTaken = this.#hand(write);
    if (isTaken && this.encrypted !== true) done();
    else {
      this.#pending = write;
      if (isTaken) this.host.after(POLL_MS * this.host.random.float(), "written", this.#onTaken);
    }
  }

  get #isBroken(): boolean {
    return this.#in!.resetArrived;
  }

  /** Whether the kernel has taken all of it. */
  #hand(write: PendingWrite): boolean {
    for (; write.at < write.chunks.length; write.at++, write.from = 0) {
      const chunk = write.chunks[write.at]!;
      write.from += this.#out!.take(chunk, write.from, this.encrypted === true);
      if (write.from < chunk.length) return false;
    }
    return true;
  }

  readonly #onRoom = (): void => {
    if (this.#pending === undefined || this.#closed) return;
    this.host.after(POLL_MS * this.host.random.float(), "writable", this.#onWritable);
  };

  readonly #onWritable = (): void => {
    const write = this.#pending;
    if (write === undefined || this.#closed) return;
    if (this.#isBroken) this.#failWrite();
    else if (this.#hand(write)) this.#onTaken();
  };

  readonly #onTaken = (): void => {
    const write = this.#pending;
    if (write === undefined || write.at < write.chunks.length) return;
    this.#pending = undefined;
    write.done();
  };

  #failWrite(): void {
    const write = this.#pending;
    this.#pending = undefined;
    write?.done(errno(this.#in!.unreadBytes > 0 ? "EPIPE" : "ECONNRESET", "write"));
  }

  override _final(done: Done): void {
    if (this.connecting) {
      this.once("connect", () => this._final(done));
      return;
    }
    if (this.#closed) {
      done();
      return;
    }
    this.#out!.fin(true);
    this.host.after(POLL_MS * this.host.random.float(), "shutdown", () => done());
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  resetAndDestroy(): this {
    if (this.connecting) this.once("connect", () => this.#resetNow());
    else this.#resetNow();
    return this;
  }

  #resetNow(): void {
    this.resetAndClosing = true;
    this.destroy();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.connecting = false;
    const write = this.#pending;
    this.#pending = undefined;
    this.closeKernel(this.resetAndClosing);
    done(error);
    // Closing callbacks are the last of a turn.
    this.host.after(POLL_MS * (1 + this.host.random.float()), "closed", () => {
      write?.done(FAILS_WHEN_DESTROYED ? errno("ECANCELED", "write") : null);
      this.emit("close", error !== null);
    });
  }

  /** What a kernel does when the process closes a socket, or is gone. */
  closeKernel(reset = false): void {
    if (this.#closed) return;
    this.#closed = true;
    const incoming = this.#in;
    const outgoing = this.#out;
    if (incoming === undefined || outgoing === undefined) return;
    incoming.receiverClosed = true;
    if (incoming.resetArrived) return;
    // Bytes that nobody has read turn the end into a reset.
    if (reset || incoming.unreadBytes > 0) outgoing.reset();
    else outgoing.fin();
  }

  // ---- what else is called on sockets ------------------------------------------------------------------------------

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function errno(code: string, syscall: string, where = ""): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(`${syscall} ${code}${where === "" ? "" : ` ${where}`}`);
  error.code = code;
  error.syscall = syscall;
  return error;
}

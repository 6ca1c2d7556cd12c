import { ByteQueue } from "../../../base/byte-queue.js";
import type { NearEvents, Port } from "../../connection/port.js";
import type { PacketStream } from "../../link/packet-stream.js";
import type { ConnectId } from "../../wire/packet.js";

/** While the caller lags, fewer bytes are not worth a packet of their own: each costs twenty more. */
const LEAST_BYTES = 8 * 1024;

/** A gRPC caller's side of an established tunnel: bytes travel as DATA packets on its stream. */
export class GrpcPort implements Port {
  /** The protocol towards callers has no packet for it. */
  readonly canHalfClose = false;
  near: NearEvents | undefined;
  readonly connectId: ConnectId;
  readonly #stream: PacketStream;
  /** Bytes of this turn, and bytes that wait until the caller has taken those before. */
  readonly #queue = new ByteQueue();
  #closed = false;

  constructor(connectId: ConnectId, stream: PacketStream) {
    this.connectId = connectId;
    this.#stream = stream;
  }

  get queuedBytes(): number {
    return this.#stream.queuedBytes + this.#queue.length;
  }

  attach(near: NearEvents): void {
    this.near = near;
  }

  write(chunk: Buffer): void {
    this.#queue.push(chunk);
  }

  flush(): void {
    if (this.#queue.length === 0) return;
    while (this.#queue.length > 0 && !this.#lags) this.#stream.data(this.connectId, this.#queue.shift()!);
    this.#queue.settle();
  }

  get #lags(): boolean {
    const stream = this.#stream;
    return stream.congested || (stream.queuedBytes >= LEAST_BYTES && this.#queue.length < LEAST_BYTES);
  }

  /** The stream takes bytes again, or has sent them all. */
  drained(): void {
    this.flush();
    this.near?.onNearDrained();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  end(): void {
    this.close();
  }

  /** The caller ends the stream once it has read this. */
  close(error = ""): void {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#stream.data(this.connectId, this.#queue.shift()!);
    this.#stream.control({ type: "CLOSE_RSP", connectId: this.connectId, error });
    // Whatever it still sends is read and thrown away, so that its own end is noticed.
    this.#stream.resume();
  }

  destroy(): void {
    this.#closed = true;
    this.#queue.clear();
    this.#stream.cancel("the caller did not read");
  }
}

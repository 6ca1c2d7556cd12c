import type { PacketStream } from "../../link/packet-stream.js";
import type { NearEvents, Port } from "../../tunnel/port.js";
import type { ConnectId } from "../../wire/packet.js";

/** A gRPC caller's side of an established tunnel: bytes travel as DATA packets on its stream. */
export class GrpcPort implements Port {
  /** The protocol towards callers has no packet for it. */
  readonly canHalfClose = false;
  near: NearEvents | undefined;
  readonly connectId: ConnectId;
  readonly #stream: PacketStream;
  #closed = false;

  constructor(connectId: ConnectId, stream: PacketStream) {
    this.connectId = connectId;
    this.#stream = stream;
  }

  get queuedBytes(): number {
    return this.#stream.queuedBytes;
  }

  attach(near: NearEvents): void {
    this.near = near;
  }

  write(chunk: Buffer): void {
    this.#stream.data(this.connectId, chunk);
  }

  flush(): void {}

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
    this.#stream.control({ type: "CLOSE_RSP", connectId: this.connectId, error });
    // Whatever it still sends is read and thrown away, so that its own end is noticed.
    this.#stream.resume();
  }

  destroy(): void {
    this.#closed = true;
    this.#stream.cancel("the caller did not read");
  }
}

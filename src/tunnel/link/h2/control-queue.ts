/**
 * Frames other than DATA on their way to the peer. The transport has one write of them at a time, and the next
 * ones gather behind it, so that what waits for a peer that does not read costs its bytes and no more.
 */
import type { Writable } from "node:stream";
import { ByteQueue } from "../../../base/byte-queue.js";

/**
 * What may wait: a thousand new streams' response headers, or several thousand answers. A peer that reads is never
 * near it, for its answers are taken once a turn.
 */
const MOST_BYTES = 128 * 1024;

export class ControlQueue {
  readonly #transport: Writable;
  readonly #onFull: () => void;
  readonly #gathered = new ByteQueue();
  /** Bytes gathered, and bytes that the transport has not sent yet. */
  #waiting = 0;
  #writes = 0;

  /** `onFull` when the peer leaves too much unread; nothing more is taken then. */
  constructor(transport: Writable, onFull: () => void) {
    this.#transport = transport;
    this.#onFull = onFull;
  }

  send(frame: Buffer): void {
    if (this.#waiting + frame.length > MOST_BYTES) {
      this.#onFull();
      return;
    }
    this.#waiting += frame.length;
    if (this.#writes === 0) this.#write(frame);
    else this.#gathered.push(frame);
  }

  /** Writes the gathered frames, so that they are sent before whatever is written next. */
  flush(): void {
    if (this.#gathered.length === 0) return;
    for (let bytes = this.#gathered.shift(); bytes !== undefined; bytes = this.#gathered.shift()) this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    this.#writes++;
    this.#transport.write(bytes, () => {
      this.#waiting -= bytes.length;
      if (--this.#writes === 0) this.flush();
    });
  }
}

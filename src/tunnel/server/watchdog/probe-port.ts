/** The near end of a probe's tunnel: sends what nobody can guess, and knows it when it comes back. */
import type { NearEvents, Port } from "../../connection/port.js";

export class ProbePort implements Port {
  readonly canHalfClose = false;
  readonly queuedBytes = 0;
  readonly #nonce: Buffer;
  readonly #onOver: (failure?: string) => void;
  #returned = 0;
  #differs = false;
  #over = false;

  /** `onOver` is called once: without a word when every byte came back. */
  constructor(nonce: Buffer, onOver: (failure?: string) => void) {
    this.#nonce = nonce;
    this.#onOver = onOver;
  }

  /** What a watchdog that has lost patience can say. */
  get progress(): string {
    return `the agent's echo sent back ${this.#returned} of ${this.#nonce.length} bytes`;
  }

  attach(near: NearEvents): void {
    near.onNearData(this.#nonce);
  }

  write(chunk: Buffer): void {
    const expected = this.#nonce.subarray(this.#returned, this.#returned + chunk.length);
    if (!expected.equals(chunk)) this.#differs = true;
    this.#returned += chunk.length;
  }

  /** Judged at the end of the turn, where the tunnel can be closed without anyone being in the middle of it. */
  flush(): void {
    if (this.#differs) this.#end("the agent's echo sent back other bytes than it was sent");
    else if (this.#returned === this.#nonce.length) this.#end();
  }

  pause(): void {}
  resume(): void {}
  end(): void {}

  close(): void {
    this.#end("the tunnel to the agent's echo was closed before everything came back");
  }

  destroy(): void {
    this.close();
  }

  #end(failure?: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#onOver(failure);
  }
}

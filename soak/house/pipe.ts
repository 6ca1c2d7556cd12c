import type { Socket } from "node:net";

/** How a link behaves, for both directions of all its connections. */
export interface Weather {
  stalled: boolean;
  delayMs: number;
  /** 0: as fast as it goes. */
  bytesPerSecond: number;
}

interface Held {
  readonly chunk: Buffer;
  readonly dueAt: number;
}

/** What a pipe may hold back before its source is no longer read. */
const HIGH_WATER_BYTES = 1024 * 1024;
const SLICE_MS = 10;

/** One direction of one connection through a relay. */
export class Pipe {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #weather: Weather;
  readonly #held: Held[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #blocked = false;
  #over: "end" | "destroy" | undefined;
  #allowance = 0;

  constructor(from: Socket, to: Socket, weather: Weather) {
    this.#from = from;
    this.#to = to;
    this.#weather = weather;
    from.on("data", (chunk: Buffer) => this.#take(chunk));
    from.once("end", () => this.#finish("end"));
    from.once("close", () => this.#finish("destroy"));
    to.on("drain", () => {
      this.#blocked = false;
      this.pump();
    });
  }

  #take(chunk: Buffer): void {
    this.#held.push({ chunk, dueAt: performance.now() + this.#weather.delayMs });
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= HIGH_WATER_BYTES || this.#weather.stalled) this.#from.pause();
    this.pump();
  }

  #finish(how: "end" | "destroy"): void {
    if (this.#over !== "destroy") this.#over = how;
    this.pump();
  }

  /** Lets through what may go now. Called again whenever the weather changes. */
  pump(): void {
    if (this.#weather.stalled || this.#blocked || this.#timer !== undefined || this.#to.destroyed) return;
    for (let head = this.#held[0]; head !== undefined; head = this.#held[0]) {
      const wait = this.#waitFor(head);
      if (wait > 0) {
        this.#later(wait);
        return;
      }
      this.#held.shift();
      this.#heldBytes -= head.chunk.length;
      if (!this.#to.write(head.chunk)) {
        this.#blocked = true;
        return;
      }
    }
    if (this.#over === "end") this.#to.end();
    else if (this.#over === "destroy") this.#to.destroySoon();
    else this.#from.resume();
  }

  #waitFor({ chunk, dueAt }: Held): number {
    const early = dueAt - performance.now();
    if (early > 0) return early;
    const { bytesPerSecond } = this.#weather;
    if (bytesPerSecond === 0) return 0;
    if (this.#allowance < 0) {
      this.#allowance += (bytesPerSecond * SLICE_MS) / 1000;
      return SLICE_MS;
    }
    this.#allowance -= chunk.length;
    return 0;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.pump();
    }, ms);
  }
}

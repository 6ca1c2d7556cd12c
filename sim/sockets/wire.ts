/**
 * One direction of a connection, as two kernels and the network between them have it. The sender's kernel copies bytes while
 * it has room, sends as much as the receiver's kernel has room for, and keeps the rest; segments arrive in order and late.
 */
import type { Random } from "../world/random.js";
import type { World } from "../world/world.js";

export interface WireOptions {
  readonly latencyMs: number;
  /** What each of the two kernels holds. */
  readonly bufferBytes: number;
  readonly segmentBytes: number;
}

type Segment = Uint8Array | "fin" | "reset";

export class Wire {
  /** Bytes that have arrived and were not read. */
  readonly #arrived: Uint8Array[] = [];
  #arrivedBytes = 0;
  #flightBytes = 0;
  /** Bytes that the sender's kernel has taken and not sent. */
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #finWanted = false;
  /** An end or a reset was sent. */
  #isOver = false;
  #isForged = false;
  #lastArrivalAt = 0;
  #stalledUntil = 0;
  /** The receiver has been told that nothing more comes. */
  finArrived = false;
  /** The end came with TLS's own good-bye. */
  isGoodbye = false;
  resetArrived = false;
  /** The receiver has closed: whatever arrives is answered by a reset. */
  receiverClosed = false;
  /** Nothing arrives any more, and nobody is told. */
  silent = false;
  onRoom: () => void = () => {};
  onArrival: () => void = () => {};
  /** Bytes came for a receiver that has closed. */
  onRefused: () => void = () => {};
  readonly #world: World;
  readonly #random: Random;
  readonly #options: WireOptions;

  constructor(world: World, random: Random, options: WireOptions) {
    this.#world = world;
    this.#random = random;
    this.#options = options;
  }

  get room(): number {
    return this.#options.bufferBytes - this.#unsentBytes;
  }

  /** Bytes that the receiver's kernel has and nobody has read. */
  get unreadBytes(): number {
    return this.#arrivedBytes;
  }

  get isReadable(): boolean {
    return this.#arrivedBytes > 0 || this.finArrived || this.resetArrived;
  }

  /** Bytes that the sender's kernel has and the receiver's has not. */
  get unsentBytes(): number {
    return this.#flightBytes + this.#unsentBytes;
  }

  /** Copies as many bytes as the sender's kernel has room for, and says how many those were; `isCopy`: nobody changes them. */
  take(bytes: Uint8Array, from: number, isCopy = false): number {
    if (this.#isForged) {
      this.#isForged = false;
      this.reset();
      this.#world.afterBarely(this.#options.latencyMs, "refused", () => this.onRefused());
      return bytes.length - from;
    }
    let at = from;
    for (let part = Math.min(bytes.length - at, this.room); part > 0; part = Math.min(bytes.length - at, this.room)) {
      const taken = bytes.subarray(at, at + part);
      this.#unsent.push(isCopy ? taken : Buffer.from(taken));
      this.#unsentBytes += part;
      at += part;
      this.#transmit();
    }
    return at - from;
  }

  /** `isGoodbye`: TLS says it, too. */
  fin(isGoodbye = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isGoodbye = isGoodbye;
    this.#finWanted = true;
    this.#onWindow();
  }

  /** Somebody between the two ends it behind what was sent; whoever sends more makes an end of the connection. */
  forgeFin(): void {
    this.fin();
    this.#isForged = true;
  }

  /** What was not sent yet is lost. */
  reset(): void {
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#finWanted = false;
    this.#isOver = true;
    this.#send("reset");
  }

  /** Copies the next bytes, and says how many those were. */
  read(into: Uint8Array): number {
    const length = Math.min(into.length, this.#arrivedBytes);
    for (let at = 0; at < length; ) {
      const first = this.#arrived[0]!;
      const part = first.length <= length - at ? first : first.subarray(0, length - at);
      into.set(part, at);
      at += part.length;
      if (part === first) this.#arrived.shift();
      else this.#arrived[0] = first.subarray(part.length);
    }
    this.#arrivedBytes -= length;
    // The news of the room takes as long as anything else on this way.
    if (this.#unsentBytes > 0) this.#world.afterBarely(this.#options.latencyMs, "room", this.#onWindow);
    return length;
  }

  readonly #onWindow = (): void => {
    if (this.silent) return;
    const before = this.room;
    this.#transmit();
    if (this.room > before) this.onRoom();
  };

  #transmit(): void {
    const { bufferBytes, segmentBytes } = this.#options;
    for (;;) {
      const first = this.#unsent[0];
      const room = bufferBytes - this.#arrivedBytes - this.#flightBytes;
      if (first === undefined || room <= 0) break;
      const length = Math.min(first.length, room, segmentBytes);
      const segment = first.subarray(0, length);
      if (length === first.length) this.#unsent.shift();
      else this.#unsent[0] = first.subarray(length);
      this.#unsentBytes -= length;
      this.#flightBytes += length;
      this.#send(segment);
    }
    if (this.#finWanted && this.#unsentBytes === 0) {
      this.#finWanted = false;
      this.#send("fin");
    }
  }

  #send(segment: Segment): void {
    const { now } = this.#world;
    const { latencyMs } = this.#options;
    const arrivesAt = Math.max(
      now + latencyMs * (0.9 + 0.2 * this.#random.float()),
      this.#lastArrivalAt,
      this.#stalledUntil,
    );
    // Segments of one way never overtake each other.
    this.#lastArrivalAt = arrivesAt + 1e-6;
    this.#world.afterBarely(arrivesAt - now, "segment", () => this.#arrive(segment));
  }

  #arrive(segment: Segment): void {
    if (this.silent) return;
    if (segment === "reset") {
      this.resetArrived = true;
      this.onArrival();
      return;
    }
    if (segment !== "fin") this.#flightBytes -= segment.length;
    if (this.receiverClosed) {
      if (segment !== "fin") this.onRefused();
      return;
    }
    if (this.resetArrived) return;
    if (segment === "fin") this.finArrived = true;
    else {
      this.#arrived.push(segment);
      this.#arrivedBytes += segment.length;
    }
    this.onArrival();
  }

  // ---- faults ------------------------------------------------------------------------------------------------------

  /** Nothing arrives before then; what was under way arrives all the same. */
  stall(untilMs: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, untilMs);
  }
}

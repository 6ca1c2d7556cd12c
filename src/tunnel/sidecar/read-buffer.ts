/** Memory that one socket reads into: a little that is its own, and a large piece while it carries a lot. */

const SMALL_BYTES = 4 * 1024;
/** As much as the kernel hands over at once. */
const LARGE_BYTES = 64 * 1024;
/** A read that leaves more than the rest of a large piece empty did not need it. */
const WORTH_IT_BYTES = LARGE_BYTES / 4;

/** Large pieces: lent to sockets that carry a lot, and kept for the next one that asks. */
export class LargePieces {
  readonly #most: number;
  readonly #keep: number;
  readonly #free: Buffer[] = [];
  #lent = 0;

  constructor(most: number, keep: number) {
    this.#most = most;
    this.#keep = keep;
  }

  get lent(): number {
    return this.#lent;
  }

  /** Undefined when so many are lent that whoever asks must do with what it has. */
  take(): Buffer | undefined {
    if (this.#lent === this.#most) return undefined;
    this.#lent += 1;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  }

  /** One that somebody still reads may not be written to again. */
  giveBack(piece: Buffer, stillRead: boolean): void {
    this.#lent -= 1;
    if (!stillRead && this.#free.length < this.#keep) this.#free.push(piece);
  }
}

/** 16 MiB at the most, 1 MiB at rest. */
const ofThisProcess = new LargePieces(256, 16);

const NOTHING: Buffer = Buffer.alloc(0);

export class ReadBuffer {
  readonly #pieces: LargePieces;
  readonly #small = Buffer.allocUnsafeSlow(SMALL_BYTES);
  #large: Buffer | undefined;
  /** The last read's: requests of one kind have one length, and a new view costs more than a comparison. */
  #view = NOTHING;
  #stillRead = false;

  constructor(pieces = ofThisProcess) {
    this.#pieces = pieces;
  }

  /** What to read into next. */
  get current(): Buffer {
    return this.#large ?? this.#small;
  }

  /** So many bytes were just read; the next read may overwrite them. */
  filled(length: number): Buffer {
    if (this.#view.length !== length) this.#view = this.current.subarray(0, length);
    return this.#view;
  }

  /** Chooses what to read into next. `stillRead`: somebody needs the bytes, and nothing is read until they are written. */
  choose(length: number, stillRead: boolean): void {
    this.#stillRead = stillRead;
    if (this.#large === undefined) {
      if (length === SMALL_BYTES) this.#exchange(this.#pieces.take());
    } else if (length < WORTH_IT_BYTES && !stillRead) this.release();
  }

  /** Gives back what is not its own. */
  release(): void {
    if (this.#large === undefined) return;
    this.#pieces.giveBack(this.#large, this.#stillRead);
    this.#exchange(undefined);
  }

  #exchange(large: Buffer | undefined): void {
    this.#large = large;
    this.#view = NOTHING;
  }
}

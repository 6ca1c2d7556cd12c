/**
 * Bytes that wait, in order. The memory they keep alive stays within twice their number (and a chunk at either end),
 * whatever the sizes of the pieces: small ones are copied together, and large ones are kept as the views they are only
 * where they are most of the memory behind them. Adding and taking cost the same however many pieces wait.
 */

/** Below this a view costs more than the copy that it saves. */
const LARGE_BYTES = 512;
/** So many smaller ones of a large chunk are kept all the same: its first and last frame may have been cut. */
const SMALL_VIEWS = 2;
const LARGE_CHUNK_BYTES = 16 * 1024;
const LEAST_BLOCK_BYTES = 256;
const MOST_BLOCK_BYTES = 64 * 1024;

/**
 * How much more than what waits may be kept alive in the whole process before views are copied out of their chunks. In
 * bulk traffic a chunk holds pieces of several connections, and they wait only for a moment.
 */
export const looseViews = { bytesLeft: 32 * 1024 * 1024 };

interface Piece {
  /** For a block that is being filled, all of it. */
  bytes: Buffer;
  fill: number;
  next: Piece | undefined;
  /** Others' bytes of the chunk that this run of views keeps alive; on its first piece. */
  loose: number;
  readonly isBlock: boolean;
}

export class ByteQueue {
  /** Bytes in the queue. */
  length = 0;
  /** A piece that is alone is kept as it is, for it may be taken at once. */
  #only: Buffer | undefined;
  #first: Piece | undefined;
  #last: Piece | undefined;
  /** The last pieces, where they are views of one chunk: the first of them, the piece before it, and their bytes. */
  #run: Piece | undefined;
  #beforeRun: Piece | undefined;
  #runBytes = 0;
  /** The chunk of which small views were kept last, and their number. */
  #smallOf: ArrayBufferLike | undefined;
  #small = 0;

  /** The piece may be a view; nobody may write to it any more. */
  push(chunk: Buffer): void {
    if (this.length === 0) {
      this.#only = chunk;
      this.length = chunk.length;
    } else {
      this.#addOnly();
      this.#add(chunk);
    }
  }

  /** The bytes are going to wait: from here on they keep no chunk alive that is mostly others'. */
  settle(): void {
    this.#addOnly();
    this.#endRun();
    this.#smallOf = undefined;
  }

  #addOnly(): void {
    const only = this.#only;
    if (only === undefined) return;
    this.#only = undefined;
    this.length = 0;
    this.#add(only);
  }

  #add(chunk: Buffer): void {
    const { length } = chunk;
    if (length >= LARGE_BYTES || this.#mayKeepSmall(chunk)) {
      this.#keep(chunk);
      return;
    }
    this.#endRun();
    this.#copy(chunk);
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const block = this.#room(chunk.length - at);
      const taken = chunk.copy(block.bytes, block.fill, at);
      block.fill += taken;
      this.length += taken;
      at += taken;
    }
  }

  /** The first bytes, as many as lie together; undefined when none wait. */
  shift(): Buffer | undefined {
    const piece = this.#first;
    if (piece === undefined) return this.#shiftOnly();
    this.#first = piece.next;
    this.length -= piece.fill;
    if (piece === this.#run) {
      this.#run = piece.next;
      this.#runBytes -= piece.fill;
    } else if (piece === this.#beforeRun) this.#beforeRun = undefined;
    looseViews.bytesLeft += piece.loose;
    if (piece.next === undefined) {
      this.#last = undefined;
      this.#smallOf = undefined;
    } else this.#shrink(this.#last!, this.length >>> 1);
    return piece.fill === piece.bytes.length ? piece.bytes : piece.bytes.subarray(0, piece.fill);
  }

  #shiftOnly(): Buffer | undefined {
    const only = this.#only;
    this.#only = undefined;
    this.length = 0;
    return only;
  }

  clear(): void {
    for (let piece = this.#first; piece !== undefined; piece = piece.next) looseViews.bytesLeft += piece.loose;
    this.#only = undefined;
    this.#first = undefined;
    this.#last = undefined;
    this.#run = undefined;
    this.#smallOf = undefined;
    this.length = 0;
  }

  #mayKeepSmall({ buffer }: Buffer): boolean {
    if (buffer.byteLength < LARGE_CHUNK_BYTES) return false;
    if (this.#smallOf !== buffer) {
      this.#smallOf = buffer;
      this.#small = 0;
    }
    return ++this.#small <= SMALL_VIEWS;
  }

  #keep(chunk: Buffer): void {
    if (this.#run?.bytes.buffer !== chunk.buffer) this.#endRun();
    if (this.#run === undefined) {
      if (this.#last !== undefined && chunk.length >= LARGE_BYTES) this.#shrink(this.#last, 0);
      this.#beforeRun = this.#last;
      this.#run = this.#append(chunk, chunk.length, false);
      this.#runBytes = 0;
    } else this.#append(chunk, chunk.length, false);
    this.length += chunk.length;
    this.#runBytes += chunk.length;
  }

  /** Views that turned out to be the smaller part of their chunk are copied out of it, unless little is loose so far. */
  #endRun(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    const chunkBytes = run.bytes.buffer.byteLength;
    if (4 * this.#runBytes >= 3 * chunkBytes) return;
    const loose = chunkBytes - this.#runBytes;
    if (loose <= looseViews.bytesLeft) {
      looseViews.bytesLeft -= loose;
      run.loose = loose;
      return;
    }
    this.#last = this.#beforeRun;
    if (this.#last === undefined) this.#first = undefined;
    else this.#last.next = undefined;
    this.length -= this.#runBytes;
    for (let piece: Piece | undefined = run; piece !== undefined; piece = piece.next) this.#copy(piece.bytes);
  }

  /** A block with room: the last one, or a new one of twice its size. */
  #room(bytes: number): Piece {
    const last = this.#last;
    if (last?.isBlock !== true)
      return this.#append(Buffer.allocUnsafeSlow(Math.max(LEAST_BLOCK_BYTES, bytes)), 0, true);
    if (last.fill < last.bytes.length) return last;
    const size = Math.min(MOST_BLOCK_BYTES, Math.max(2 * last.bytes.length, bytes));
    return this.#append(Buffer.allocUnsafeSlow(size), 0, true);
  }

  #append(bytes: Buffer, fill: number, isBlock: boolean): Piece {
    const piece: Piece = { bytes, fill, next: undefined, loose: 0, isBlock };
    if (this.#last === undefined) this.#first = piece;
    else this.#last.next = piece;
    this.#last = piece;
    return piece;
  }

  /** A block has more room than is likely to be filled, or can be. */
  #shrink(block: Piece, most: number): void {
    const spare = block.bytes.length - block.fill;
    if (spare <= LEAST_BLOCK_BYTES || spare <= most) return;
    // Not Buffer.from: that may be a view of Node's own pool.
    const bytes = Buffer.allocUnsafeSlow(block.fill);
    block.bytes.copy(bytes, 0, 0, block.fill);
    block.bytes = bytes;
  }
}

const SMALLEST = 1024;

/** Bytes that come in pieces and are wanted in one: however small the pieces, each byte is copied a few times at most. */
export class GatheredBytes {
  length = 0;
  #room: Buffer = Buffer.alloc(0);

  /** A first piece is kept as it is, later ones are copied behind it. */
  append(piece: Uint8Array): void {
    const length = this.length + piece.length;
    if (this.length === 0) {
      this.#room = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    } else {
      if (length > this.#room.length) this.#grow(length);
      this.#room.set(piece, this.length);
    }
    this.length = length;
  }

  /** All gathered bytes; valid until the next piece comes. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.length);
  }

  /** Forgets the first `count`. */
  drop(count: number): void {
    this.#room = this.#room.subarray(count, this.length);
    this.length -= count;
  }

  #grow(length: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(SMALLEST, 2 * length));
    room.set(this.bytes);
    this.#room = room;
  }
}

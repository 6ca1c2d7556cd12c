/**
 * Bytes that wait, in order. The memory they keep alive stays within twice their number (and a chunk at either end),
 * whatever the sizes of the pieces: small ones are copied together, and large ones are kept as the views they are only
 * where they are most of the memory behind them. Adding and taking cost the same however many pieces wait.
 */

/** Below this a view costs more than the copy that it saves. */
const LARGE_BYTES = 4096;
const LEAST_BLOCK_BYTES = 256;
const MOST_BLOCK_BYTES = 64 * 1024;

interface Piece {
  /** For a block that is being filled, all of it. */
  bytes: Buffer;
  fill: number;
  next: Piece | undefined;
}

export class ByteQueue {
  /** Bytes that wait. */
  length = 0;
  /** A piece that is alone is kept as it is, for it may be taken at once. */
  #only: Buffer | undefined;
  #first: Piece | undefined;
  #last: Piece | undefined;
  /** The last pieces, where they are views of one chunk: the first of them, and their bytes. */
  #run: Piece | undefined;
  #runBytes = 0;

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
    if (length >= LARGE_BYTES) {
      this.#keep(chunk);
      return;
    }
    this.#endRun();
    for (let at = 0; at < length; ) {
      const block = this.#room(length - at);
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
    }
    if (piece.next === undefined) this.#last = undefined;
    else this.#shrink(this.#last!, this.length >>> 1);
    return piece.bytes.subarray(0, piece.fill);
  }

  #shiftOnly(): Buffer | undefined {
    const only = this.#only;
    this.#only = undefined;
    this.length = 0;
    return only;
  }

  clear(): void {
    this.#only = undefined;
    this.#first = undefined;
    this.#last = undefined;
    this.#run = undefined;
    this.length = 0;
  }

  #keep(chunk: Buffer): void {
    if (this.#run?.bytes.buffer !== chunk.buffer) this.#endRun();
    if (this.#last !== undefined) this.#shrink(this.#last, 0);
    const piece = this.#append(chunk, chunk.length);
    this.length += chunk.length;
    if (this.#run === undefined) {
      this.#run = piece;
      this.#runBytes = 0;
    }
    this.#runBytes += chunk.length;
  }

  /** Views that turned out to be the smaller part of their chunk are copied out of it. */
  #endRun(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    if (4 * this.#runBytes >= 3 * run.bytes.buffer.byteLength) return;
    const block = Buffer.allocUnsafeSlow(this.#runBytes);
    let fill = 0;
    for (let piece: Piece | undefined = run; piece !== undefined; piece = piece.next) {
      fill += piece.bytes.copy(block, fill);
    }
    run.bytes = block;
    run.fill = fill;
    run.next = undefined;
    this.#last = run;
  }

  /** A block with room: the last one, or a new one that is no larger than half of what waits already. */
  #room(bytes: number): Piece {
    const last = this.#last;
    if (last !== undefined && last.fill < last.bytes.length) return last;
    const size = Math.min(MOST_BLOCK_BYTES, Math.max(LEAST_BLOCK_BYTES, bytes, this.length >>> 1));
    return this.#append(Buffer.allocUnsafeSlow(size), 0);
  }

  #append(bytes: Buffer, fill: number): Piece {
    const piece: Piece = { bytes, fill, next: undefined };
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

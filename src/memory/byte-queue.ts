/**
 * Bytes that wait, in order. The memory they keep alive stays within twice their number (and a fixed kilobyte),
 * whatever the sizes of the pieces: small ones are copied together, and a large one is kept as the view it is only when
 * it is most of the memory behind it. Adding and taking cost the same however many pieces wait.
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
  #first: Piece | undefined;
  #last: Piece | undefined;

  /** The piece may be a view; nobody may write to it any more. */
  push(chunk: Buffer): void {
    const { length } = chunk;
    if (length >= LARGE_BYTES && 4 * length >= 3 * chunk.buffer.byteLength) {
      this.#append(chunk, length);
      this.length += length;
      return;
    }
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
    if (piece === undefined) return undefined;
    this.#first = piece.next;
    this.length -= piece.fill;
    if (piece.next === undefined) this.#last = undefined;
    else this.#shrink(this.#last!);
    return piece.bytes.subarray(0, piece.fill);
  }

  clear(): void {
    this.#first = undefined;
    this.#last = undefined;
    this.length = 0;
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

  /** A block that was right for many bytes is too large for the few that are left. */
  #shrink(block: Piece): void {
    const spare = block.bytes.length - block.fill;
    if (spare <= LEAST_BLOCK_BYTES || spare <= this.length >>> 1) return;
    // Not Buffer.from: that may be a view of Node's own pool.
    const bytes = Buffer.allocUnsafeSlow(block.fill);
    block.bytes.copy(bytes, 0, 0, block.fill);
    block.bytes = bytes;
  }
}

/** Bytes that come in pieces and are wanted in one: however small the pieces are, each byte is copied a few times at most. */

const SMALLEST = 1024;

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

  /** All of them, until the next ones come. */
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

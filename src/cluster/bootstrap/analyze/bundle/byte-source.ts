/** Bytes of a stream in the portions a parser wants, holding no more than one chunk. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #taken = 0;

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** How many bytes were handed out. */
  get taken(): number {
    return this.#taken;
  }

  /** Exactly so many bytes, or fewer when the stream ends. */
  async take(length: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(length)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** The same in pieces as they come. */
  async *pieces(length: number): AsyncGenerator<Buffer, void, void> {
    for (let wanted = length; wanted > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done === true) return;
        this.#rest = value;
      }
      const piece = this.#rest.subarray(0, wanted);
      this.#rest = this.#rest.subarray(piece.length);
      this.#taken += piece.length;
      wanted -= piece.length;
      yield piece;
    }
  }

  async skip(length: number): Promise<number> {
    let skipped = 0;
    for await (const piece of this.pieces(length)) skipped += piece.length;
    return skipped;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
